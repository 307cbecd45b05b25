#include "core/arithmetic/reductions/rank_order.h"

#include <cstring>
#include <vector>

#include "core/arithmetic/reductions/combine.h"

namespace simmesh {

void RankOrder::reduce(const Reduction& reduction) const {
  auto operands = reduction.operands;
  Combine combine = combine_of(reduction.op, reduction.dtype);
  Fold fold = fold_of(reduction.op, reduction.dtype);
  std::size_t element = bytes_per_element(reduction.dtype);
  bool premultiplies = reduction.op == ReduceOp::premul_sum;
  std::vector<std::byte> scaled(premultiplies ? 32 * 1024 : 0);
  blocks_of(reduction.count, reduction.dtype, [&](std::int64_t begin, std::int64_t count) {
    std::size_t at = std::size_t(begin) * element;
    std::byte* result = reduction.result + at;
    if (premultiplies) {
      scale(result, operands[0] + at, reduction.factor, reduction.dtype, count);
      for (std::size_t r = 1; r < operands.size(); ++r) {
        scale(scaled.data(), operands[r] + at, reduction.factor, reduction.dtype, count);
        combine(result, result, scaled.data(), count);
      }
    } else if (operands.size() == 1) {
      std::memcpy(result, operands[0] + at, std::size_t(count) * element);
    } else {
      combine(result, operands[0] + at, operands[1] + at, count);
      auto others = operands.subspan(2);
      fold(result, {others.data(), std::int64_t(others.size()), at}, count);
    }
    if (reduction.op == ReduceOp::avg)
      divide(result, double(operands.size()), reduction.dtype, count);
    if (reduction.hash) reduction.hash->update({result, std::size_t(count) * element});
  });
}

}  // namespace simmesh
