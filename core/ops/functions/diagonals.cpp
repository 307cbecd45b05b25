#include "core/ops/functions/diagonals.h"

#include "core/check/error.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

Tensor diag_embed(const Tensor& x, std::int64_t offset) {
  if (x.dim() == 0)
    raise(ErrorKind::index_error, "diag_embed", "expected at least one dim, got a scalar");
  Shape shape = x.shape();
  shape.back() += offset < 0 ? -offset : offset;
  shape.push_back(shape.back());
  std::int64_t rows = x.dim() - 1;
  return diagonal_backward(x, shape, {.offset = offset, .dim0 = rows, .dim1 = rows + 1});
}

Tensor diag(const Tensor& x, std::int64_t offset) {
  if (x.dim() == 1) return diag_embed(x, offset);
  if (x.dim() != 2)
    raise(ErrorKind::runtime_error, "diag", "diag(): Supports 1D or 2D tensors. Got {}D", x.dim());
  return clone(diagonal(x, {.offset = offset}));
}

Tensor trace(const Tensor& x) {
  if (x.dim() != 2)
    raise(ErrorKind::runtime_error, "trace", "trace: expected a matrix, but got tensor with dim {}",
          x.dim());
  return sum(diagonal(x));
}

}  // namespace simmesh
