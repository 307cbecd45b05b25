#pragma once

#include <optional>
#include <string_view>

#include "core/engine/ranks/rank.h"
#include "core/tensor/convert.h"
#include "core/tensor/known_tensor.h"

namespace simmesh {

// scalar_value returns the one element of a tensor as a double, exactly for floating dtypes. It is
// known to all processes over which a run is spread.
inline double scalar_value(const Tensor& scalar) {
  Tensor wide = in_rank() ? known_tensor(converted(scalar, DType::float64), "scalar_value")
                          : converted(known_tensor(scalar, "scalar_value"), DType::float64);
  return wide.values<double>()[0];
}

// known_scalar returns the one element of a tensor as a double, known to all processes over which a
// run is spread; none for a tensor without elements. `name` is that of known_tensor.
inline std::optional<double> known_scalar(const Tensor& scalar, std::string_view name) {
  Tensor wide = known_tensor(converted(scalar, DType::float64), name);
  return wide.has_elements() ? std::optional(wide.values<double>()[0]) : std::nullopt;
}

// scalar_value_or returns another value for a tensor without elements, after the same launches. The
// program doesn't go on by it: a ghost's tensor has no elements either.
inline double scalar_value_or(const Tensor& scalar, double otherwise) {
  Tensor wide = converted(scalar, DType::float64);
  return wide.has_elements() ? wide.values<double>()[0] : otherwise;
}

}  // namespace simmesh
