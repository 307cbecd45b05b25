#pragma once

#include "core/ops/op.h"

namespace simmesh {

// BatchNorm are the arguments of batch_norm: vectors of one element per channel, undefined where
// absent.
struct BatchNorm {
  Tensor running_mean = {};
  Tensor running_var = {};
  Tensor weight = {};
  Tensor bias = {};
  bool training = false;
  double momentum = 0.1;  // the part of the batch in the running statistics
  double eps = 1e-5;
};

// batch_norm normalizes each channel of x [N, C, d...]: (x - mean) / sqrt(variance + eps) * weight
// + bias. In training mean and variance are those of the batch, computed like layer_norm's, and
// the running statistics, where given, move towards them in place, the variance towards the
// unbiased one; else they are the running ones. Raises a ValueError for one value per channel in
// training, a RuntimeError for vectors of another size and for absent running statistics.
Tensor batch_norm(const Tensor& x, const BatchNorm& options);

// The argument of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<bool> training{"training"};
}  // namespace attribute

}  // namespace simmesh
