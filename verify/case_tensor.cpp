#include "verify/case_tensor.h"

#include <algorithm>
#include <fmt/format.h>

namespace simmesh {

Schema shape_schema() {
  using namespace schema;
  return list(integer({.min = 0}), {.max = 64});
}

Schema dtype_schema() {
  return schema::word(
      {"float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool"});
}

Schema formula_schema(schema::Fields further) {
  using namespace schema;
  // Some values are scaled whatever their rule.
  bool has_scale = std::any_of(further.begin(), further.end(),
                               [](const Field& field) { return field.name == "scale"; });
  Fields of_unit;
  if (!has_scale) of_unit.push_back(optional("scale", number()));
  further.push_back(required("seed", seed()));
  return object_by("rule",
                   {{"wide", {}},
                    {"small", {}},
                    {"unit", of_unit},
                    {"positive", {}},
                    {"index", {required("below", integer({.min = 1}))}},
                    {"bool", {}}},
                   std::move(further));
}

Schema tensor_schema() {
  using namespace schema;
  return named("tensor", [] {
    return formula_schema({required("shape", shape_schema()), required("dtype", dtype_schema())});
  });
}

Schema planned_tensor_schema() {
  using namespace schema;
  return object({required("shape", shape_schema()), required("dtype", dtype_schema())});
}

Formula read_formula(const CaseField& field) {
  Formula data;
  data.dtype = dtype_from_string(field["dtype"].text());
  if (auto rule = field.find("rule")) data.rule = rule_from_string(rule->text());
  if (auto seed = field.find("seed")) data.seed = seed->unsigned64();
  if (auto below = field.find("below")) data.below = below->unsigned64();
  if (auto scale = field.find("scale")) data.scale = scale->number();
  return data;
}

CaseTensor read_tensor(const CaseField& field) {
  return {field["shape"].shape(), read_formula(field)};
}

void require_elements(const CaseField& field, DimSpan shape, std::int64_t copies) {
  std::int64_t elements;
  if (__builtin_mul_overflow(numel(shape), copies, &elements) || elements > case_elements_max)
    field.reject(fmt::format("at most {} elements in all ranks together, not {} times {}",
                             case_elements_max, copies, to_string(shape)));
}

}  // namespace simmesh
