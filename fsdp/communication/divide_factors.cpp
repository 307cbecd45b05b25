#include "fsdp/communication/divide_factors.h"

#include <cmath>

#include "core/check/error.h"

namespace simmesh::fsdp {

namespace {

// Returns the smallest power of two that doesn't divide the factor, or whose square reaches it.
double factor_before(double factor) {
  double before = 1.0;
  while (std::fmod(factor, before) == 0.0 && factor / before > before) before *= 2.0;
  return before;
}

}  // namespace

DivideFactors divide_factors(const DivideRequest& request) {
  DivideFactors result;
  result.total = request.factor.value_or(double(request.data_parallel_size));
  bool may_overflow =
      request.reduce_dtype != DType::float32 && request.reduce_dtype != DType::bfloat16;
  if (may_overflow || request.force_sum) {
    result.reduce_scatter = result.all_reduce = ReduceOp::sum;
    result.before = may_overflow ? factor_before(result.total) : 1.0;
    result.after = result.total / result.before;
    return result;
  }
  if (!request.factor) {
    if (request.data_parallel_size == 1) result.reduce_scatter = result.all_reduce = ReduceOp::sum;
    return result;
  }
  if (*request.factor == 0)
    raise(ErrorKind::zero_division_error, "fsdp/divide_factors",
          "expected a gradient divide factor other than 0, got 0");
  result.all_reduce = ReduceOp::sum;
  result.copy = *request.factor;
  result.reduce_scatter = *request.factor == double(request.shard_size)
                              ? ReduceWith(ReduceOp::avg)
                              : ReduceWith::premul_sum(1.0 / *request.factor);
  return result;
}

}  // namespace simmesh::fsdp
