#pragma once

#include <cstddef>
#include <cstdint>
#include <gsl/span>

#include "core/arithmetic/reductions/reduce_op.h"
#include "core/tensor/dtype.h"
#include "core/tensor/elements_hash.h"

namespace simmesh {

// Reduction is one reduction over the members of a group: contiguous operands of count elements
// each, in group order.
struct Reduction {
  ReduceOp op = ReduceOp::sum;
  DType dtype = DType::float32;
  double factor = 1.0;  // of premul_sum
  gsl::span<const std::byte* const> operands;
  std::int64_t count = 0;
  std::byte* result = nullptr;
  // owner is the member that alone keeps these elements of a reduce-scatter; -1 where all members
  // keep them.
  std::int64_t owner = -1;
  // Where given, takes the result's bytes in ascending order while they are still in the cache.
  ElementsHash* hash = nullptr;
};

}  // namespace simmesh
