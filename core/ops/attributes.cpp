#include "core/ops/attributes.h"

namespace simmesh {

std::optional<Number> Attributes::number_in(const Attribute<Number>& which) const {
  const AttributeValue* value = find(which.name);
  if (!value) return {};
  if (const bool* known = std::get_if<bool>(value)) return *known;
  if (const std::int64_t* known = std::get_if<std::int64_t>(value)) return *known;
  const double* known = std::get_if<double>(value);
  SIMMESH_CHECK(known, "expected a number as argument '{}'", which.name);
  return *known;
}

}  // namespace simmesh
