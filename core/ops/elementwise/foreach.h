#pragma once

#include <gsl/span>
#include <vector>

#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// One op over lists of tensors, as optimisers use it: each tensor on its own, with no common
// shape or dtype. Lists of different lengths raise a RuntimeError. A list of numbers has one for
// each tensor.
using TensorSpan = gsl::span<const Tensor>;
using MutableTensorSpan = gsl::span<Tensor>;

// Results in new tensors.
std::vector<Tensor> foreach_add(TensorSpan a, Number b);
std::vector<Tensor> foreach_add(TensorSpan a, TensorSpan b, Number alpha = 1);
std::vector<Tensor> foreach_sub(TensorSpan a, TensorSpan b, Number alpha = 1);
std::vector<Tensor> foreach_mul(TensorSpan a, Number b);
std::vector<Tensor> foreach_mul(TensorSpan a, TensorSpan b);
std::vector<Tensor> foreach_div(TensorSpan a, Number b);
std::vector<Tensor> foreach_div(TensorSpan a, TensorSpan b);
std::vector<Tensor> foreach_maximum(TensorSpan a, TensorSpan b);
std::vector<Tensor> foreach_addcmul(TensorSpan x, TensorSpan a, TensorSpan b, Number value = 1);
std::vector<Tensor> foreach_addcdiv(TensorSpan x, TensorSpan a, TensorSpan b, Number value = 1);
std::vector<Tensor> foreach_lerp(TensorSpan start, TensorSpan end, Number weight);
std::vector<Tensor> foreach_neg(TensorSpan x);
std::vector<Tensor> foreach_sqrt(TensorSpan x);
// foreach_norm returns the p-norm of each tensor, without dims.
std::vector<Tensor> foreach_norm(TensorSpan x, double p = 2.0);

// In place.
void foreach_add_(MutableTensorSpan self, Number other);
void foreach_add_(MutableTensorSpan self, TensorSpan other, Number alpha = 1);
void foreach_sub_(MutableTensorSpan self, TensorSpan other, Number alpha = 1);
void foreach_mul_(MutableTensorSpan self, Number other);
void foreach_mul_(MutableTensorSpan self, TensorSpan other);
// foreach_mul_ by one tensor without dims: a scale.
void foreach_mul_(MutableTensorSpan self, const Tensor& other);
void foreach_div_(MutableTensorSpan self, Number other);
void foreach_div_(MutableTensorSpan self, gsl::span<const Number> other);
void foreach_div_(MutableTensorSpan self, TensorSpan other);
void foreach_maximum_(MutableTensorSpan self, TensorSpan other);
void foreach_addcmul_(MutableTensorSpan self, TensorSpan a, TensorSpan b, Number value = 1);
void foreach_addcdiv_(MutableTensorSpan self, TensorSpan a, TensorSpan b, Number value = 1);
void foreach_addcdiv_(MutableTensorSpan self, TensorSpan a, TensorSpan b,
                      gsl::span<const Number> values);
void foreach_lerp_(MutableTensorSpan self, TensorSpan end, Number weight);
void foreach_neg_(MutableTensorSpan self);
void foreach_sqrt_(MutableTensorSpan self);
void foreach_zero_(MutableTensorSpan self);

}  // namespace simmesh
