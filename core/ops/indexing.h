#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include <simmesh/core/ops/op.h>

namespace simmesh {

// Reads and writes by index tensors of dtype int64 (or int32). An index below zero counts from the
// end where PyTorch says so: in index, index_put and take_along_dim's arguments; elsewhere, and out
// of range, it raises an IndexError. Where several elements are added to one, they are added in
// ascending order of their places, in float32 for 16-bit dtypes, and rounded once.

// embedding returns the rows of weight[n, ...] at the indices: [indices..., ...]. The row
// padding_idx gets no gradient.
Tensor embedding(const Tensor& weight, const Tensor& indices,
                 std::optional<std::int64_t> padding_idx = {});

// gather returns x[i][index[i][j]] along dim: the shape of index.
Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index);

// take_along_dim is gather with x and index broadcast against each other outside of dim.
Tensor take_along_dim(const Tensor& x, const Tensor& index, std::int64_t dim);

// scatter returns x with source[i][j], or a value, written at [i][index[i][j]] along dim; the last
// of several wins. scatter_add adds instead.
Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source);
Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index, double value);
Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source);

// index is x[i0, i1, ...]: entry k indexes dim k, an undefined one takes the dim whole; the indices
// are broadcast against each other. A bool entry stands for the places where it is true. The
// indexed dims become those of the indices, in place of the first where all stand together, else in
// front.
Tensor index(const Tensor& x, gsl::span<const Tensor> indices);
inline Tensor index(const Tensor& x, std::initializer_list<Tensor> indices) {
  return index(x, gsl::span<const Tensor>(indices.begin(), indices.size()));
}

// index_put returns x with values, broadcast to the shape of index(x, indices), written there, or
// added; without accumulate the last of several wins.
Tensor index_put(const Tensor& x, gsl::span<const Tensor> indices, const Tensor& values,
                 bool accumulate = false);
inline Tensor index_put(const Tensor& x, std::initializer_list<Tensor> indices,
                        const Tensor& values, bool accumulate = false) {
  return index_put(x, gsl::span<const Tensor>(indices.begin(), indices.size()), values, accumulate);
}

// index_select returns the elements of dim at the indices, a vector.
Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& index);

// index_add returns x with alpha * source[j] added to its element index[j] of dim.
Tensor index_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source,
                 double alpha = 1);

// masked_select returns the elements where a bool mask, broadcast with x, is true: a vector.
Tensor masked_select(const Tensor& x, const Tensor& mask);

// nonzero returns the indices of the elements other than zero, in order: int64 [count, x.dim()].
// Its shape depends on the data, so a distributed tensor raises a RuntimeError.
Tensor nonzero(const Tensor& x);

// one_hot returns int64 [x..., classes] that is one at the element's place. Without classes, one
// more than the largest element.
Tensor one_hot(const Tensor& x, std::int64_t classes = -1);

// indexing_ops returns the ops of this file.
gsl::span<const Op* const> indexing_ops();

}  // namespace simmesh
