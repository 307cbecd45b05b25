#pragma once

#include <cstdint>

#include "core/tensor/tensor.h"

namespace simmesh {

// Diagonals beside the view of one (diagonal, in core/ops/shapes/views.h). An offset above zero
// means above the main diagonal.

// diag_embed returns matrices, the last two dims, that have the last dim of x on a diagonal and are
// zero elsewhere. Raises an IndexError for a scalar.
Tensor diag_embed(const Tensor& x, std::int64_t offset = 0);

// diag returns the matrix of a vector, or the diagonal of a matrix. Raises a RuntimeError for other
// numbers of dims.
Tensor diag(const Tensor& x, std::int64_t offset = 0);

// trace returns the sum of the diagonal of a matrix. Raises a RuntimeError for other numbers of
// dims.
Tensor trace(const Tensor& x);

}  // namespace simmesh
