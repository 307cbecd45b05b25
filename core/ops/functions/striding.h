#pragma once

#include <cstdint>
#include <optional>

#include "core/tensor/tensor.h"

namespace simmesh {

// as_strided returns the elements at offset + sum of index times stride of a tensor's row-major
// elements: a view where sizes and strides are those of its dims in another order, else a copy. The
// offset is 0 by default. Raises a RuntimeError for places beyond the tensor, and for a distributed
// tensor where the result isn't a view.
Tensor as_strided(const Tensor& x, DimSpan size, DimSpan strides,
                  std::optional<std::int64_t> offset = {});

}  // namespace simmesh
