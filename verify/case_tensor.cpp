#include "verify/case_tensor.h"

#include <fmt/format.h>

namespace simmesh {

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
  if (__builtin_mul_overflow(element_count(shape), copies, &elements) ||
      elements > case_elements_max)
    field.reject(fmt::format("at most {} elements in all ranks together, not {} times {}",
                             case_elements_max, copies, to_string(shape)));
}

}  // namespace simmesh
