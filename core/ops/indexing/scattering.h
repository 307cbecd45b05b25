#pragma once

#include <cstdint>
#include <string_view>

#include "core/ops/op.h"

namespace simmesh {

// Ops that write along one dim by an index tensor of dtype int64 (or int32). An index of another
// dtype, out of range or below zero raises an IndexError. A source of another dtype than x, and an
// index that is larger than the source, or than x in another dim, raise a RuntimeError. Where
// several elements are added to one, they are added in ascending order of their places, in float32
// for 16-bit dtypes, and rounded once; in exact arithmetic their order changes nothing.

// scatter returns x with source[i][j], or a value, written at [i][index[i][j]] along dim; the last
// of several wins. scatter_add adds instead.
Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source);
Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index, double value);
Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source);

// ScatterReduce is how scatter_reduce combines: "sum", "prod", "mean", "amax" or "amin" of the
// sources of an element, and of the element itself where include_self.
struct ScatterReduce {
  std::string_view reduce = "sum";
  bool include_self = true;
};
// scatter_reduce returns x, where each element that gets sources is replaced by their reduction. A
// mean divides the sum by the count, rounding integers down; NaN wins amax and amin, whose equal
// elements share the gradient. Raises a RuntimeError for another reduction.
Tensor scatter_reduce(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source,
                      const ScatterReduce& options);

// index_add returns x with alpha * source[j] added to its element index[j] of dim. index_copy
// writes the source there, the last of several wins; index_fill a value. The index is a vector, and
// the source has the shape of x but for one element of dim for each index.
Tensor index_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source,
                 double alpha = 1);
Tensor index_copy(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source);
Tensor index_fill(const Tensor& x, std::int64_t dim, const Tensor& index, double value);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<std::string> reduce{"reduce"};
inline constexpr Attribute<bool> include_self{"include_self"};
}  // namespace attribute

}  // namespace simmesh
