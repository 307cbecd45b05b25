#pragma once

#include "core/ops/elementwise/activations.h"
#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// Gradients of elementwise functions as ops of their own, as PyTorch has them: the gradient of the
// result times the slope. They are computed from the function's input x or, where that is enough,
// its result y. Each is the formula of its comment, rounded after each operation.

// sigmoid_backward returns g * ((1 - y) * y); tanh_backward g * (1 - y * y).
Tensor sigmoid_backward(const Tensor& gradient, const Tensor& y);
Tensor tanh_backward(const Tensor& gradient, const Tensor& y);

// threshold_backward returns g where x is above the threshold, else 0. With the result of relu and
// 0 it is the gradient of relu.
Tensor threshold_backward(const Tensor& gradient, const Tensor& x, Number threshold);

// silu_backward returns g * (s * (1 + x * (1 - s))) for s = sigmoid(x); gelu_backward returns the
// gradient of gelu.
Tensor silu_backward(const Tensor& gradient, const Tensor& x);
Tensor gelu_backward(const Tensor& gradient, const Tensor& x, Gelu approximate = Gelu::none);

}  // namespace simmesh
