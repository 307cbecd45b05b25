#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/ops/indexing/gathering.h"
#include "core/ops/op.h"

namespace simmesh {

// Ops that read and write by several index tensors at once, of dtype int64 (or int32) or bool. An
// index below zero counts from the end; one out of range raises an IndexError.

// index is x[i0, i1, ...]: entry k indexes dim k, an undefined one takes the dim whole; the indices
// are broadcast against each other. A bool entry stands for the places where it is true. The
// indices' dims replace the indexed ones: at the place of the first one where these are neighbours,
// else in front. Raises an IndexError for more entries than dims, for entries that don't broadcast,
// and for a bool entry of another shape than the dims that it stands for.
Tensor index(const Tensor& x, gsl::span<const Tensor> indices);
inline Tensor index(const Tensor& x, std::initializer_list<Tensor> indices) {
  return index(x, gsl::span<const Tensor>(indices.begin(), indices.size()));
}

// index_put returns x with values, broadcast to the shape of index(x, indices), written there, or
// added; without accumulate the last of several wins. Raises as index does, and a RuntimeError for
// values of another dtype than x.
Tensor index_put(const Tensor& x, gsl::span<const Tensor> indices, const Tensor& values,
                 bool accumulate = false);
inline Tensor index_put(const Tensor& x, std::initializer_list<Tensor> indices,
                        const Tensor& values, bool accumulate = false) {
  return index_put(x, gsl::span<const Tensor>(indices.begin(), indices.size()), values, accumulate);
}

// masked_select returns the elements where a bool mask, broadcast with x, is true: a vector. Raises
// a RuntimeError for a mask of another dtype. Of distributed tensors the mask is gathered, and so
// is x where it is cut.
Tensor masked_select(const Tensor& x, const Tensor& mask);

// nonzero returns the indices of the elements other than zero, in order: int64 [count, x.dim()]. Of
// a distributed tensor all ranks of the mesh get all indices: its elements are gathered, as those
// of masks are that index a tensor. PyTorch refuses both.
Tensor nonzero(const Tensor& x);

// nonzero_static returns the first `rows` rows of nonzero, and rows of `filler` after the last one:
// int64 [rows, x.dim()]. Raises a RuntimeError for rows below zero.
Tensor nonzero_static(const Tensor& x, std::int64_t rows, std::int64_t filler = -1);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<bool> accumulate{"accumulate"};
inline constexpr Attribute<std::int64_t> filler{"filler"};
inline constexpr Attribute<std::int64_t> rows{"rows"};
}  // namespace attribute

}  // namespace simmesh
