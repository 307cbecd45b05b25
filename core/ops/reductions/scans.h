#pragma once

#include <cstdint>

#include "core/ops/op.h"

namespace simmesh {

// Running sums and products along a dim, in ascending order. Integers and bools give int64. In
// exact arithmetic each element of cumsum has the bits of the exact sum of its terms.
Tensor cumsum(const Tensor& x, std::int64_t dim);
Tensor cumprod(const Tensor& x, std::int64_t dim);

}  // namespace simmesh
