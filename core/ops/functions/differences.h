#pragma once

#include <cstdint>

#include "core/tensor/tensor.h"

namespace simmesh {

// Differences are the options of diff: how often neighbours along a dim are subtracted, and what is
// joined to the dim first.
struct Differences {
  std::int64_t times = 1;
  std::int64_t dim = -1;
  Tensor prepend = {};
  Tensor append = {};
};
// diff subtracts from each element of a dim the one before it; for bools the result says whether
// the two differ. Raises a RuntimeError for a scalar and for a count below zero.
Tensor diff(const Tensor& x, const Differences& options = {});

}  // namespace simmesh
