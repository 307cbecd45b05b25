#pragma once

#include <cstdint>

#include "core/ops/reductions/extremes.h"

namespace simmesh {

// cummax and cummin return the largest and smallest element so far along a dim, and its index (of
// equal ones the last), which alone gets the gradient. A NaN stays from where it is.
ValuesAndIndices cummax(const Tensor& x, std::int64_t dim);
ValuesAndIndices cummin(const Tensor& x, std::int64_t dim);

}  // namespace simmesh
