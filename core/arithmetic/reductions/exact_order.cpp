#include "core/arithmetic/reductions/exact_order.h"

#include <algorithm>
#include <functional>
#include <type_traits>
#include <vector>

#include "core/arithmetic/reductions/rank_order.h"
#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/rounding.h"
#include "core/arithmetic/sums/scratch.h"
#include "core/kernels/instruction_set.h"
#include "core/kernels/kernels.h"

namespace simmesh {

namespace {

// ExactBlocks reduces block by block. The kernels read float and double; 16-bit operands are
// widened a block at a time.
template <class T>
class ExactBlocks {
 public:
  using Read = std::conditional_t<std::is_same_v<T, double>, double, float>;

  explicit ExactBlocks(const Reduction& reduction)
      : r_(reduction),
        rows_(reduction.operands.size()),
        kernels_(kernels_of(best_instruction_set())) {
    constexpr std::int64_t widened_max = 64 * 1024;
    auto row_count = std::int64_t(r_.operands.size());
    fold_.row_count = row_count;
    fold_.scaled = r_.op == ReduceOp::premul_sum;
    if (fold_.scaled) fold_.factor = widened(rounded_to<T>(r_.factor));
    if (r_.op == ReduceOp::avg) fold_.divisor = double(row_count);
    fold_.to_odd = !std::is_same_v<T, Read>;
    block_ = std::min<std::int64_t>(r_.count, 32 * 1024 / std::int64_t(sizeof(T)));
    if (fold_.to_odd)
      block_ = std::min(block_, std::max<std::int64_t>(widened_max / row_count, 64));
    std::int64_t room = std::max(block_, fold_count_min);
    // Rows are read as whole vectors, so short ones are copied.
    if (fold_.to_odd || r_.count < fold_count_min) copies_ = scratch_.take<Read>(row_count * room);
    fold_.out = out_ = scratch_.take<Read>(room);
    fold_.unsettled = scratch_.take<std::int32_t>(room);
    overlaps_ = std::any_of(r_.operands.begin(), r_.operands.end(), [&](const std::byte* operand) {
      std::size_t bytes = std::size_t(r_.count) * sizeof(T);
      std::less<const std::byte*> less;
      return less(operand, r_.result + bytes) && less(r_.result, operand + bytes);
    });
  }

  void run() {
    for (std::int64_t begin = 0; begin < r_.count; begin += block_) {
      std::int64_t count = std::min(block_, r_.count - begin);
      // The last block of several reaches back where it is shorter than a vector.
      if (count < fold_count_min && begin > 0) {
        std::int64_t back = copies_ ? 0 : fold_count_min - count;
        reduce(begin - back, count + back, back);
      } else {
        reduce(begin, count, 0);
      }
      if (r_.hash)
        r_.hash->update(
            {r_.result + std::size_t(begin) * sizeof(T), std::size_t(count) * sizeof(T)});
    }
  }

 private:
  // Reduces a block. Its first `skipped` elements have already been written.
  void reduce(std::int64_t begin, std::int64_t count, std::int64_t skipped) {
    read_rows(begin, count);
    fold_.count = copies_ ? std::max(count, fold_count_min) : count;
    T* result = reinterpret_cast<T*>(r_.result) + begin;
    bool in_place = false;
    if constexpr (std::is_same_v<T, Read>) {
      in_place = !overlaps_ && !copies_;
      fold_.out = in_place ? result : out_;
    }
    std::int64_t open = 0;
    if constexpr (std::is_same_v<Read, double>)
      open = kernels_.exact_fold_double(fold_);
    else
      open = kernels_.exact_fold_float(fold_);
    if (!in_place) settled_.assign(std::size_t(count), T(0));
    T* out = in_place ? result : settled_.data();
    if (!in_place)
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(out_[i]);
    for (std::int64_t u = 0; u < open; ++u)
      if (std::int64_t i = fold_.unsettled[u]; i < count) out[i] = long_fold(begin + i);
    if (!in_place) std::copy(out + skipped, out + count, result + skipped);
  }

  void read_rows(std::int64_t begin, std::int64_t count) {
    std::int64_t width = std::max(block_, fold_count_min);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const T* row = reinterpret_cast<const T*>(r_.operands[r]) + begin;
      if (copies_) {
        Read* copy = copies_ + std::int64_t(r) * width;
        for (std::int64_t i = 0; i < count; ++i) copy[i] = static_cast<Read>(row[i]);
        for (std::int64_t i = count; i < fold_count_min; ++i) copy[i] = Read(0);
        rows_[r] = copy;
      } else if constexpr (std::is_same_v<T, Read>) {
        rows_[r] = row;
      }
    }
    fold_.rows = rows_.data();
  }

  T long_fold(std::int64_t i) {
    DigitSums sum(1, DigitRange::whole());
    for (const std::byte* operand : r_.operands)
      sum.add_product(0, widened(reinterpret_cast<const T*>(operand)[i]), fold_.factor);
    return rounded_to<T>(sum.take(std::int64_t(fold_.divisor)).rounded(0, dtype_of<T>));
  }

  const Reduction& r_;
  Scratch scratch_;
  ExactFold<Read> fold_;
  std::vector<const Read*> rows_;
  std::vector<T> settled_;
  Read *copies_ = nullptr, *out_ = nullptr;
  std::int64_t block_ = 0;
  bool overlaps_ = false;
  const Kernels& kernels_;
};

}  // namespace

void ExactOrder::reduce(const Reduction& reduction) const {
  bool adds = reduction.op == ReduceOp::sum || reduction.op == ReduceOp::avg ||
              reduction.op == ReduceOp::premul_sum;
  if (!adds || !is_floating_point(reduction.dtype)) return RankOrder().reduce(reduction);
  visit_dtype(reduction.dtype, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>)
      if (reduction.count > 0) ExactBlocks<T>(reduction).run();
  });
}

}  // namespace simmesh
