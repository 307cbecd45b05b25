#pragma once

#include "core/ops/shapes/factories.h"
#include "core/tensor/scalar_value.h"
#include "core/tensor/tensor.h"

namespace simmesh::optim {

// new_scalar_state returns one float32 number as state of an optimiser, a tensor without dims.
inline Tensor new_scalar_state(double value) { return full(DimSpan(), DType::float32, value); }

// scalar_state returns the number; 0 in a world of shapes only.
inline float scalar_state(const Tensor& scalar) {
  return scalar.has_elements() ? float(scalar_value_or(scalar, 0.0)) : 0.0F;
}

// set_scalar_state changes the number.
inline void set_scalar_state(Tensor& scalar, float value) {
  if (scalar.has_elements()) scalar.mutable_values<float>()[0] = value;
}

}  // namespace simmesh::optim
