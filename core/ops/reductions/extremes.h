#pragma once

#include <optional>

#include "core/ops/dim_list.h"
#include "core/ops/op.h"

namespace simmesh {

// Largest and smallest elements along dims, all of them by default.

// amax and amin return the largest and smallest elements, NaN if there is one; the gradient is
// shared by equal ones. An empty dim raises an IndexError.
Tensor amax(const Tensor& x, const DimList& dims = {}, bool keepdim = false);
Tensor amin(const Tensor& x, const DimList& dims = {}, bool keepdim = false);

// ValuesAndIndices are elements, and where along the dim they were (int64).
struct ValuesAndIndices {
  Tensor values;
  Tensor indices;
};
// max and min of the whole are amax and amin; along a dim they return the first index of the
// element too, which alone gets the gradient.
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
ValuesAndIndices max(const Tensor& x, std::int64_t dim, bool keepdim = false);
ValuesAndIndices min(const Tensor& x, std::int64_t dim, bool keepdim = false);

// SmallestAndLargest are the results of aminmax.
struct SmallestAndLargest {
  Tensor min;
  Tensor max;
};
// aminmax returns amin and amax along a dim, or of all elements, in one pass. Raises an IndexError
// for an empty dim, and a RuntimeError for no elements where no dim is given.
SmallestAndLargest aminmax(const Tensor& x, std::optional<std::int64_t> dim = {},
                           bool keepdim = false);

// argmax and argmin return the first index, of the whole row-major tensor where no dim is given;
// int64.
Tensor argmax(const Tensor& x, std::optional<std::int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<std::int64_t> dim = {}, bool keepdim = false);

}  // namespace simmesh
