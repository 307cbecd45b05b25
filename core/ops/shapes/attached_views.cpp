#include "core/tensor/attached_views.h"

#include "core/ops/compute_mode.h"
#include "core/ops/shapes/views.h"

namespace simmesh::attached {

bool runs_ops(const Tensor& x) { return x.distribution() || (x.requires_grad() && grad_enabled()); }

Tensor narrow(const Tensor& x, const Tensor::Narrow& range) { return simmesh::narrow(x, range); }
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1) {
  return simmesh::transpose(x, dim0, dim1);
}
Tensor permute(const Tensor& x, DimSpan dims) { return simmesh::permute(x, dims); }
Tensor unsqueeze(const Tensor& x, std::int64_t dim) { return simmesh::unsqueeze(x, dim); }
Tensor squeeze(const Tensor& x, std::int64_t dim) { return simmesh::squeeze(x, dim); }
Tensor view(const Tensor& x, DimSpan shape) { return simmesh::view(x, shape); }
Tensor clone(const Tensor& x) { return simmesh::clone(x); }

}  // namespace simmesh::attached
