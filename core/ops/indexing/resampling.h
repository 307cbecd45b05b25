#pragma once

#include <optional>

#include "core/ops/op.h"

namespace simmesh {

// Ops that read elements of images [N, C, d...] at other places, and rotations of planes.

// Upsampling sets the sizes of the dims after the first two: the sizes themselves, or a factor
// whose result is rounded down; one of the two is given.
struct Upsampling {
  Dims size = {};  // one for all dims, or one for each
  std::optional<double> scale = {};
};
// upsample_nearest takes for each place the element whose index is the place divided by the factor,
// rounded down. Raises a ValueError where neither size nor factor, or both, are given, for fewer
// than three dims and for sizes below 1.
Tensor upsample_nearest(const Tensor& x, const Upsampling& options);
// upsample_nearest_backward adds the gradients of all places that read an element; scale is 0 where
// none was given.
Tensor upsample_nearest_backward(const Tensor& gradient, DimSpan input_sizes, double scale);

// rot90 turns the plane of two dims by 90 degrees, from the first towards the second, k times.
// Raises a RuntimeError unless there are two different dims.
Tensor rot90(const Tensor& x, std::int64_t k, DimSpan dims);

// block_diag puts matrices (vectors are rows) along the diagonal of one that is zero elsewhere.
// Raises a RuntimeError for tensors of more dims.
Tensor block_diag(gsl::span<const Tensor> matrices);

}  // namespace simmesh
