#pragma once

#include <cstdint>

#include "core/ops/op.h"

namespace simmesh {

// Unfold describes windows along a dim: each has size elements and begins step elements after the
// one before.
struct Unfold {
  std::int64_t dim = 0;
  std::int64_t size = 1;
  std::int64_t step = 1;
};
// unfold returns a view with the windows as elements of the dim, and their elements as a new last
// dim. A scalar has one window of itself. Raises a RuntimeError for a size beyond the dim's or
// below zero, and for a step below 1.
Tensor unfold(const Tensor& x, const Unfold& windows);

// The argument of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<std::int64_t> window_size{"size"};
}  // namespace attribute

}  // namespace simmesh
