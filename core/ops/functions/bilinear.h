#pragma once

#include "core/tensor/tensor.h"

namespace simmesh {

// bilinear returns the sum over i and j of weight[o, i, j] a[..., i] b[..., j], and bias[o] where
// it is defined: [..., o]. Raises a RuntimeError for shapes that don't fit.
Tensor bilinear(const Tensor& a, const Tensor& b, const Tensor& weight, const Tensor& bias = {});

}  // namespace simmesh
