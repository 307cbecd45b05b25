#pragma once

#include <cstdint>

#include "core/ops/op.h"
#include "core/ops/view_arguments.h"

namespace simmesh {

// Copies of a tensor with another one written where a view of it would read. The source has the
// shape of the view (another raises a RuntimeError); it is converted to the dtype of x.

// select_scatter writes to one element of a dim, slice_scatter to the elements of a range. An index
// out of range raises an IndexError.
Tensor select_scatter(const Tensor& x, const Tensor& source, std::int64_t dim, std::int64_t index);
Tensor slice_scatter(const Tensor& x, const Tensor& source, const SliceRange& range);

}  // namespace simmesh
