#pragma once

#include <cstdint>
#include <gsl/span>

#include "core/arithmetic/companions/exact_content.h"

namespace simmesh {

// SumDims says over which elements sums go: over the middle dim of [outer, count, inner].
struct SumDims {
  std::int64_t outer = 1;
  std::int64_t count = 0;
  std::int64_t inner = 1;
};

// summed returns outer * inner sums of values that aren't roots. Raises a ValueError where the dims
// aren't those of the values.
ExactContent summed(const ExactContent& terms, const SumDims& dims);

// summed_at adds value i, no root, to sum index[i] of count sums; -1 drops it. Raises a ValueError
// for another number of indices, and an IndexError for one that is out of range.
ExactContent summed_at(const ExactContent& terms, gsl::span<const std::int64_t> index,
                       std::int64_t count);

}  // namespace simmesh
