#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/ops/op.h"

namespace simmesh {

// Ops that join tensors.

// cat joins tensors along a dim; other sizes are equal. Their dtypes are promoted. Tensors of shape
// [0] are left out, as in PyTorch. Raises a ValueError for no tensors, and a RuntimeError for
// scalars and for other sizes that differ.
Tensor cat(gsl::span<const Tensor> tensors, std::int64_t dim = 0);
inline Tensor cat(std::initializer_list<Tensor> tensors, std::int64_t dim = 0) {
  return cat(gsl::span<const Tensor>(tensors.begin(), tensors.size()), dim);
}

// stack joins tensors of one shape along a new dim. Raises a RuntimeError for no tensors, and for
// shapes that differ.
Tensor stack(gsl::span<const Tensor> tensors, std::int64_t dim = 0);
inline Tensor stack(std::initializer_list<Tensor> tensors, std::int64_t dim = 0) {
  return stack(gsl::span<const Tensor>(tensors.begin(), tensors.size()), dim);
}

// hstack joins along dim 1, vectors along dim 0; vstack joins along dim 0, vectors as rows.
Tensor hstack(gsl::span<const Tensor> tensors);
Tensor vstack(gsl::span<const Tensor> tensors);

}  // namespace simmesh
