#pragma once

#include <cstdint>

#include "core/tensor/formula.h"
#include "verify/recorded_case.h"

namespace simmesh {

// case_elements_max bounds the elements of a case in all ranks together.
inline constexpr std::int64_t case_elements_max = std::int64_t{1} << 26;

// CaseTensor is a tensor of a case: {"shape","dtype","rule","seed"} with "below" or "scale" where
// the rule wants it.
struct CaseTensor {
  Shape shape;
  Formula data;
};

// read_tensor reads a tensor. Where a case only plans, rule and seed may be missing. Throws a
// BadCase for fields of another type, a ValueError for a dtype or a rule that isn't known.
CaseTensor read_tensor(const CaseField& field);

// read_formula reads the same fields but the shape.
Formula read_formula(const CaseField& field);

// require_elements throws a BadCase that blames `field` where `copies` tensors of that shape have
// more than case_elements_max elements together. To be called before anything is allocated.
void require_elements(const CaseField& field, DimSpan shape, std::int64_t copies);

// tensor_fields are the fields of a tensor that read_tensor knows.
inline constexpr std::string_view tensor_fields[] = {"shape", "dtype", "rule",
                                                     "seed",  "below", "scale"};

}  // namespace simmesh
