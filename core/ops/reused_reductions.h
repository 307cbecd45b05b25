#pragma once

#include <cstddef>
#include <cstdint>
#include <gsl/span>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/arithmetic/reductions/reduce_op.h"
#include "core/engine/options/arithmetic.h"
#include "core/ops/kept_operand.h"

namespace simmesh {

// ComputedReduction is a reduction of one operand of each rank, and all that its result depends on.
struct ComputedReduction {
  ReduceOp op = ReduceOp::sum;
  double factor = 1.0;  // of premul_sum
  const Arithmetic& arithmetic;
  bool keeps_unrounded = false;
  gsl::span<const Tensor> operands;  // by member of the group
};

// Reduced is the result of a reduction: the bytes of a buffer from `begin` on, row-major.
struct Reduced {
  BufferPtr buffer;
  std::size_t begin = 0;
  Shape shape;
  DType dtype = DType::float32;
  std::uint64_t hash = 0;  // of the elements
};

// ReusedReductions has the results of the reductions of a program that is run many times: operands
// of the same bits, in whichever run and order, aren't reduced again. It is part of ReusedResults.
class ReusedReductions {
 public:
  // bytes_max bounds the bytes of the operands and results that are kept.
  explicit ReusedReductions(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // active returns those of the rank that runs, null outside of a ReusedResults::Scope.
  static ReusedReductions* active();

  // find returns the result of a reduction that was kept.
  std::optional<Reduced> find(const ComputedReduction& reduction);
  void keep(const ComputedReduction& reduction, const Reduced& result);

  // reused counts the reductions that were found.
  std::uint64_t reused() const;

 private:
  struct Entry {
    ReduceOp op;
    std::uint64_t factor_bits;
    Arithmetic arithmetic;
    bool keeps_unrounded;
    std::vector<KeptOperand> operands;
    Reduced result;
  };

  static bool is_same(const Entry& entry, const ComputedReduction& reduction);

  mutable std::mutex mutex_;
  std::size_t bytes_max_, bytes_ = 0;
  std::uint64_t reused_ = 0;
  std::unordered_multimap<std::uint64_t, Entry> entries_;  // by the hash of the first operand
};

}  // namespace simmesh
