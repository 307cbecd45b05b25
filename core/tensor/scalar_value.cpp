#include "core/tensor/scalar_value.h"

#include "core/engine/ranks/rank.h"
#include "core/tensor/convert.h"

namespace simmesh {

double scalar_value(const Tensor& scalar) {
  Tensor wide = in_rank() ? known_tensor(converted(scalar, DType::float64), "scalar_value")
                          : converted(known_tensor(scalar, "scalar_value"), DType::float64);
  return wide.values<double>()[0];
}

std::optional<double> known_scalar(const Tensor& scalar, std::string_view name) {
  Tensor wide = known_tensor(converted(scalar, DType::float64), name);
  return wide.has_elements() ? std::optional(wide.values<double>()[0]) : std::nullopt;
}

double scalar_value_or(const Tensor& scalar, double otherwise) {
  Tensor wide = converted(scalar, DType::float64);
  return wide.has_elements() ? wide.values<double>()[0] : otherwise;
}

}  // namespace simmesh
