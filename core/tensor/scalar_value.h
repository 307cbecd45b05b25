#pragma once

#include "core/tensor/convert.h"

namespace simmesh {

// scalar_value returns the one element of a tensor as a double, exactly for floating dtypes.
inline double scalar_value(const Tensor& scalar) {
  return converted(scalar, DType::float64).values<double>()[0];
}

// scalar_value_or returns another value for a tensor without elements, after the same launches.
inline double scalar_value_or(const Tensor& scalar, double otherwise) {
  Tensor wide = converted(scalar, DType::float64);
  return wide.has_elements() ? wide.values<double>()[0] : otherwise;
}

}  // namespace simmesh
