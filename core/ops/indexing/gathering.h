#pragma once

#include <cstdint>
#include <optional>

#include "core/ops/indexing/scattering.h"
#include "core/ops/op.h"

namespace simmesh {

// Ops that read along one dim by an index tensor of dtype int64 (or int32). An index out of range
// or below zero raises an IndexError.

// embedding returns the rows of weight[n, ...] at the indices: [indices..., ...]. The row
// padding_idx gets no gradient.
Tensor embedding(const Tensor& weight, const Tensor& indices,
                 std::optional<std::int64_t> padding_idx = {});

// EmbeddingRows is the number of rows of an embedding's weight, and the one without a gradient, -1
// for none.
struct EmbeddingRows {
  std::int64_t count = 0;
  std::int64_t padding_idx = -1;
};
// embedding_dense_backward sums the gradients of an embedding's rows.
Tensor embedding_dense_backward(const Tensor& gradient, const Tensor& indices,
                                const EmbeddingRows& rows);

// gather returns x[i][index[i][j]] along dim: the shape of index.
Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index);

// take_along_dim is gather with x and index broadcast against each other outside of dim.
Tensor take_along_dim(const Tensor& x, const Tensor& index, std::int64_t dim);

// index_select returns the elements of dim at the indices, a vector.
Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& index);

// one_hot returns int64 [x..., classes] that is one at the element's place. Without classes there
// is one more than the largest element.
Tensor one_hot(const Tensor& x, std::int64_t classes = -1);

// gathering_ops returns the ops of this file.
gsl::span<const Op* const> gathering_ops();

}  // namespace simmesh
