#pragma once

#include <cstdint>
#include <optional>

#include "core/ops/op.h"

namespace simmesh {

// softmax returns exp(x - max) / sum(exp(x - max)) along a dim; log_softmax its logarithm. The
// exponentials are summed in the current arithmetic. With a dtype x is converted to it first.
// Raises an IndexError for a dim out of range and a NotImplementedError for integers.
Tensor softmax(const Tensor& x, std::int64_t dim, std::optional<DType> dtype = {});
Tensor log_softmax(const Tensor& x, std::int64_t dim, std::optional<DType> dtype = {});

}  // namespace simmesh
