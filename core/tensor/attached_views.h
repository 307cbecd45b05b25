#pragma once

#include "core/tensor/tensor.h"

// The views of tensors that are recorded on the tape or cut over a mesh: the methods of Tensor come
// here for those, so that no gradient gets lost. core/ops defines these functions.
namespace simmesh::attached {

// runs_ops says whether a view of the tensor is an op: it is distributed, or requires a gradient
// while gradients are enabled.
bool runs_ops(const Tensor& x);

// Each runs the op of its name.
Tensor narrow(const Tensor& x, const Tensor::Narrow& range);
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);
Tensor permute(const Tensor& x, DimSpan dims);
Tensor unsqueeze(const Tensor& x, std::int64_t dim);
Tensor squeeze(const Tensor& x, std::int64_t dim);
Tensor view(const Tensor& x, DimSpan shape);
Tensor clone(const Tensor& x);

}  // namespace simmesh::attached
