#pragma once

#include <cstdint>

#include "core/tensor/formula.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// case_elements_max bounds the elements of a case in all ranks together.
inline constexpr std::int64_t case_elements_max = std::int64_t{1} << 26;

// CaseTensor is a tensor of a case: {"shape","dtype","rule","seed"} with "below" or "scale" where
// the rule needs it.
struct CaseTensor {
  Shape shape;
  Formula data;
};

// read_tensor reads a tensor. Where a case only plans, rule and seed may be missing.
CaseTensor read_tensor(const CaseField& field);

// read_formula reads the same fields but the shape.
Formula read_formula(const CaseField& field);

// require_elements raises a BadCase that blames `field` where `copies` tensors of that shape have
// more than case_elements_max elements together. Call it before anything is allocated.
void require_elements(const CaseField& field, DimSpan shape, std::int64_t copies);

// tensor_schema is a tensor by formula, planned_tensor_schema one of which only shape and dtype
// count.
Schema tensor_schema();
Schema planned_tensor_schema();

// formula_schema is an object with rule and seed, with below or scale where the rule needs it, and
// further fields.
Schema formula_schema(schema::Fields further);

// shape_schema is a list of sizes; dtype_schema a dtype's name.
Schema shape_schema();
Schema dtype_schema();

}  // namespace simmesh
