#pragma once

#include <cstdint>
#include <optional>

#include "core/ops/op.h"

namespace simmesh {

// Products and distances that are composed of simpler operations.

// kron is the Kronecker product: each element of a times b, as blocks. The tensor of fewer dims
// gets leading dims of size one.
Tensor kron(const Tensor& a, const Tensor& b);

// cross is the cross product of vectors of three elements along a dim, the first of size three
// where none is given; other dims are broadcast. Raises a RuntimeError where there is no such dim.
Tensor cross(const Tensor& a, const Tensor& b, std::optional<std::int64_t> dim = {});

// cdist returns the p-norm of each difference of rows: a[..., n, m] and b[..., k, m] give
// [..., n, k]. Raises a RuntimeError for other shapes.
Tensor cdist(const Tensor& a, const Tensor& b, double p = 2.0);

// Renorm are the options of renorm: the norm p, the dim of the slices, and max_norm.
struct Renorm {
  double p = 2.0;
  std::int64_t dim = 0;
  double max_norm = 1.0;
};
// renorm scales each slice of a dim down to max_norm where its norm is larger. Raises a
// RuntimeError for a vector, for a p that isn't above 0 and for a max_norm below 0.
Tensor renorm(const Tensor& x, const Renorm& options);

}  // namespace simmesh
