#include "core/ops/reductions/extremes.h"

#include "core/ops/call.h"
#include "core/ops/kernels/reduction_call.h"
#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/place_of_extreme.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// The extreme of an empty piece is the identity, which every other piece beats.
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

// The smallest elements of pieces are partial minima, the largest ones partial maxima.
StrategyRows smallest_and_largest_rows(const StrategyRequest& call) {
  StrategyRows rows = reduction_rows(call, Partial(ReduceOp::min));
  for (StrategyRow& row : rows)
    if (row.outputs[1]->is_partial()) row.outputs[1] = Partial(ReduceOp::max);
  return rows;
}

std::vector<Tensor> smallest_and_largest_of_piece(const LocalCall& call) {
  const Shape& shape = call.inputs[0].shape();
  for (std::int64_t dim : reduced_dims(call.attributes, shape.size()))
    if (dim < std::int64_t(shape.size()) && shape[std::size_t(dim)] == 0)
      return {
          identities(ReduceOp::min, call.output_specs[0]->local_shape(), call.inputs[0].dtype()),
          identities(ReduceOp::max, call.output_specs[1]->local_shape(), call.inputs[0].dtype())};
  return simmesh::call(call.op, call.inputs, call.attributes);
}

ShardingStrategy index_of_extreme(ReduceOp op) {
  ShardingStrategy strategy = reduction();
  strategy.decomposition = [op](const OpCall& call) { return place_of_extreme(call, op); };
  return strategy;
}

}  // namespace

void extremes_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"amax", extreme(ReduceOp::max)},
      {"amin", extreme(ReduceOp::min)},
      {"aminmax",
       {.rows = smallest_and_largest_rows,
        .compute = smallest_and_largest_of_piece,
        .is_derived = true}},
      {"max", extreme(ReduceOp::max)},
      {"min", extreme(ReduceOp::min)},
      {"argmax", index_of_extreme(ReduceOp::max)},
      {"argmin", index_of_extreme(ReduceOp::min)},
      {"max.dim", reduction()},
      {"min.dim", reduction()},
  };
  table.add(strategies);
}

}  // namespace simmesh
