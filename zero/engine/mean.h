#pragma once

#include "core/tensor/tensor.h"

namespace simmesh::zero {

// MeanOf is how a sum over ranks becomes a mean: the divisors before the reduction and after it.
// With is_sum the result is the sum: in exact arithmetic gradients are multiplied by their later
// divisor, as a part of the copy into the bucket, since neither rounds there; in other arithmetics
// nothing is divided.
struct MeanOf {
  double before = 1.0;
  double after = 1.0;
  bool is_sum = false;

  // begin returns the tensor to reduce, from a tensor whose elements it may write; end returns the
  // mean of the reduction. Both are called in a scope of KeepUnrounded.
  Tensor begin(Tensor gradients) const;
  Tensor end(const Tensor& reduced) const;
};

}  // namespace simmesh::zero
