#pragma once

#include "core/tensor/convert.h"

namespace simmesh {

// scalar_value returns the one element of a tensor as a double, exactly for floating dtypes.
inline double scalar_value(const Tensor& scalar) {
  return converted(scalar, DType::float64).values<double>()[0];
}

}  // namespace simmesh
