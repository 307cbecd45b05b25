#pragma once

#include <cstdint>
#include <optional>

#include "collectives/collectives.h"
#include "core/tensor/dtype.h"

namespace simmesh::fsdp {

// DivideFactors are how the sum of gradients becomes their mean: the divisors of each rank before
// and after the reductions (1 for no division), and the operations of the reduce-scatter and the
// all-reduce. A shard group of one rank has no reduce-scatter; it copies, and divides by `copy`.
struct DivideFactors {
  double before = 1.0;
  double after = 1.0;
  double copy = 1.0;
  ReduceWith reduce_scatter = ReduceOp::avg;
  ReduceWith all_reduce = ReduceOp::avg;

  // total is the product of all divisors of the sum over all ranks.
  double total = 1.0;
};

// DivideRequest is everything on which the factors depend; factor is the one that the user set, if
// any.
struct DivideRequest {
  std::int64_t shard_size = 1;
  std::int64_t data_parallel_size = 1;
  DType reduce_dtype = DType::float32;
  std::optional<double> factor = {};
  bool force_sum = false;
};

// divide_factors follows PyTorch: float32 and bfloat16 are averaged by the collective; for all
// other dtypes, and forced sums, the sum is divided; other dtypes are divided by about the root of
// the number before the sum too, so that nothing overflows. Raises a ZeroDivisionError where the
// collective would have to multiply by the inverse of 0.
DivideFactors divide_factors(const DivideRequest& request);

}  // namespace simmesh::fsdp
