#pragma once

#include <cstdint>

#include "core/ops/reductions/extremes.h"

namespace simmesh {

// Ops that find elements by their rank. For an even count the median is the lower of the two in the
// middle.

// median returns NaN where there is one; nanmedian ignores NaN, and returns NaN where there is
// nothing else. Equal elements share the gradient of the median of all elements.
Tensor median(const Tensor& x);
Tensor nanmedian(const Tensor& x);
// Along a dim they return the index of the element too, which alone gets the gradient. Raises an
// IndexError for an empty dim.
ValuesAndIndices median(const Tensor& x, std::int64_t dim, bool keepdim = false);
ValuesAndIndices nanmedian(const Tensor& x, std::int64_t dim, bool keepdim = false);

// mode returns the most frequent element of each row along a dim, of equally frequent ones the
// smallest, and one of its indices, which alone gets the gradient. Each NaN is an element of its
// own, and greater than all others. Raises an IndexError for an empty dim.
ValuesAndIndices mode(const Tensor& x, std::int64_t dim = -1, bool keepdim = false);

// Quantile are the options of quantile: the fraction q in [0, 1], and the dim.
struct Quantile {
  double q = 0.5;
  std::int64_t dim = -1;
  bool keepdim = false;
};
// quantile returns the element at q (count - 1) of the sorted elements of a dim, linearly between
// its neighbours; NaN where there is one. Floating only; raises a RuntimeError for another q and
// for an empty dim.
Tensor quantile(const Tensor& x, const Quantile& which);

}  // namespace simmesh
