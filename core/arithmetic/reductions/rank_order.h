#pragma once

#include "core/arithmetic/reductions/reduction.h"

namespace simmesh {

// RankOrder folds from the left in group order, each step in the dtype: the rule of PyTorch's
// LocalTensor.
class RankOrder {
 public:
  void reduce(const Reduction& reduction) const;
};

// blocks_of calls f(begin, count) for consecutive ranges of the elements that fit into a fast
// cache.
template <class F>
void blocks_of(std::int64_t count, DType dtype, F&& f) {
  constexpr std::int64_t block_bytes = 16 * 1024;
  std::int64_t block = block_bytes / std::int64_t(bytes_per_element(dtype));
  for (std::int64_t begin = 0; begin < count; begin += block)
    f(begin, begin + block < count ? block : count - begin);
}

}  // namespace simmesh
