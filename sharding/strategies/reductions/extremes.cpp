#include "core/ops/reductions/extremes.h"

#include <algorithm>
#include <limits>

#include "core/ops/call.h"
#include "core/ops/reductions/reduction_call.h"
#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/families.h"

namespace simmesh {

namespace {

bool is_reduced(const Attributes& attributes, std::size_t rank, std::int64_t dim) {
  Dims reduced = reduced_dims(attributes, rank);
  return std::find(reduced.begin(), reduced.end(), dim) != reduced.end();
}

// Elements that every other one beats.
Tensor identities(ReduceOp op, const Shape& shape, DType dtype) {
  bool is_max = op == ReduceOp::max;
  if (is_floating_point(dtype)) {
    double greatest = std::numeric_limits<double>::infinity();
    return full(shape, dtype, is_max ? -greatest : greatest);
  }
  Tensor result = empty(shape, dtype);
  if (!result.has_elements()) return result;
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      T identity = is_max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
      auto values = result.mutable_values<T>();
      std::fill(values.begin(), values.end(), identity);
    }
  });
  return result;
}

// The extreme of a piece without elements is one that every other piece beats.
std::vector<Tensor> extreme_of_piece(const LocalCall& call, ReduceOp op) {
  const Shape& shape = call.inputs[0].shape();
  for (std::int64_t dim : reduced_dims(call.attributes, shape.size()))
    if (dim < std::int64_t(shape.size()) && shape[std::size_t(dim)] == 0)
      return {identities(op, call.output_specs[0]->local_shape(), call.inputs[0].dtype())};
  return simmesh::call(call.op, call.inputs, call.attributes);
}

ShardingStrategy extreme(ReduceOp op) {
  return {.rows =
              [op](const StrategyRequest& call) {
                StrategyRows rows = reduction_rows(call, Partial(op));
                rows.push_back(rule({Partial(op)}, Partial(op)));
                return rows;
              },
          .accepts_short_dims = true,
          .compute = [op](const LocalCall& call) { return extreme_of_piece(call, op); }};
}

// What has to be whole for an index is made so, and not split along another dim instead.
bool makes_whole(const MeshRequest& request, const MeshCandidate& candidate) {
  if (!request.given[0]) return true;
  std::size_t rank = request.call.inputs[0].shape.size();
  for (std::size_t i = 0; i < request.given[0]->size(); ++i) {
    const Placement& from = (*request.given[0])[i];
    bool must_go = from.is_pending() ||
                   (from.splits() && is_reduced(request.call.attributes, rank, from.dim()));
    if (must_go && !(*candidate.inputs[0])[i].is_replicate()) return false;
  }
  return true;
}

ShardingStrategy index_of_extreme() {
  ShardingStrategy strategy = reduction();
  strategy.filter = makes_whole;
  return strategy;
}

}  // namespace

gsl::span<const OpStrategy> extreme_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"amax", extreme(ReduceOp::max)}, {"amin", extreme(ReduceOp::min)},
      {"max", extreme(ReduceOp::max)},  {"min", extreme(ReduceOp::min)},
      {"argmax", index_of_extreme()},   {"argmin", index_of_extreme()},
      {"max.dim", reduction()},         {"min.dim", reduction()},
  };
  return strategies;
}

}  // namespace simmesh
