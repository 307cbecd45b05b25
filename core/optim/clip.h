#pragma once

#include <gsl/span>

#include "core/tensor/tensor.h"

namespace simmesh::optim {

// total_norm returns the p-norm over all elements of all tensors, rounded once to the dtype of the
// first (float32 for none): p is 1, 2 or infinity, or any other above 0. In exact arithmetic the
// sum doesn't depend on how elements are spread over tensors.
Tensor total_norm(gsl::span<const Tensor> tensors, double p = 2.0);

// power_sum returns the sum of |x|^p over all elements of all tensors, as float64 without dims.
// Each term is rounded to float64; in a scope of KeepUnrounded the sum is kept unrounded.
Tensor power_sum(gsl::span<const Tensor> tensors, double p);

// ClipOptions set the norm to which gradients are clipped.
struct ClipOptions {
  double max_norm = 1.0;
  double norm_type = 2.0;
  double eps = 1e-6;
};

// clip_grad_norm_ multiplies all gradients by min(1, max_norm / (norm + eps)) and returns their
// total norm before that.
Tensor clip_grad_norm_(gsl::span<const Tensor> parameters, const ClipOptions& options);

// clip_grad_value_ limits each gradient's elements to [-limit, limit].
void clip_grad_value_(gsl::span<const Tensor> parameters, double limit);

}  // namespace simmesh::optim
