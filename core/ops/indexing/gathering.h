#pragma once

#include <cstdint>
#include <optional>

#include "core/ops/indexing/scattering.h"
#include "core/ops/op.h"

namespace simmesh {

// Ops that read along one dim by an index tensor of dtype int64 (or int32). An index of another
// dtype, out of range or below zero raises an IndexError.

// embedding returns the rows of weight[n, width] at the indices: [indices..., width]. The row
// padding_idx gets no gradient. Raises a RuntimeError for a weight that is no matrix, and an
// AssertionError for a padding_idx that is no row.
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

// gather returns x[i][index[i][j]] along dim: the shape of index, which has as many dims as x.
// Raises a RuntimeError where index is larger than x in another dim.
Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index);

// take_along_dim is gather with x and index broadcast against each other outside of dim.
Tensor take_along_dim(const Tensor& x, const Tensor& index, std::int64_t dim);

// index_select returns the elements of dim at the indices, a vector.
Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& index);

// take returns the elements at row-major places of the whole tensor, of the shape of index. Places
// below zero count from the end.
Tensor take(const Tensor& x, const Tensor& index);

// one_hot returns int64 [x..., classes] that is one at the element's place. Without classes there
// is one more than the largest element; a tensor without elements, or a distributed one, then
// raises a RuntimeError.
Tensor one_hot(const Tensor& x, std::int64_t classes = -1);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<std::int64_t> padding_idx{"padding_idx"};
inline constexpr Attribute<std::int64_t> num_weights{"num_weights"};
inline constexpr Attribute<std::int64_t> num_classes{"num_classes"};
}  // namespace attribute

}  // namespace simmesh
