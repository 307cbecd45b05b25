#include "core/ops/number.h"

#include <algorithm>

namespace simmesh {

Number Number::of(const AttributeValue& value) {
  if (const bool* known = std::get_if<bool>(&value)) return *known;
  if (const std::int64_t* known = std::get_if<std::int64_t>(&value)) return *known;
  const double* known = std::get_if<double>(&value);
  SIMMESH_CHECK(known, "expected a number among the arguments of an op");
  return *known;
}

std::optional<Number> number_in(const Attributes& attributes, std::string_view name) {
  auto found = std::find_if(attributes.begin(), attributes.end(),
                            [&](const Attributes::Entry& entry) { return entry.first == name; });
  if (found == attributes.end()) return {};
  return Number::of(found->second);
}

Number number_or(const Attributes& attributes, std::string_view name, Number otherwise) {
  return number_in(attributes, name).value_or(otherwise);
}

}  // namespace simmesh
