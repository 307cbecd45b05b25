#pragma once

#include <cstdint>

#include "core/ops/op.h"

namespace simmesh {

// Gradients of softmax and log_softmax as ops of their own, as PyTorch has them, from the result y
// and the dim of the function.

// softmax_backward returns g * y - y * sum(g * y); log_softmax_backward g - exp(y) * sum(g). Sums
// go along the dim, as the current arithmetic adds.
Tensor softmax_backward(const Tensor& gradient, const Tensor& y, std::int64_t dim);
Tensor log_softmax_backward(const Tensor& gradient, const Tensor& y, std::int64_t dim);

}  // namespace simmesh
