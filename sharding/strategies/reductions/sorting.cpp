#include "core/ops/reductions/sorting.h"

#include <utility>

#include "core/ops/attribute_names.h"
#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Inputs: the boundaries, in one row or one a row of values, and the values.
StrategyRows search_rows(const StrategyRequest& call) {
  std::int64_t rows_of_boundaries = std::int64_t(call.inputs[0].shape.size()) - 1;
  StrategyRows rows;
  for (std::int64_t dim = 0; dim < std::int64_t(call.inputs[1].shape.size()); ++dim)
    rows.push_back(
        rule({dim < rows_of_boundaries ? Shard(dim) : Replicate(), Shard(dim)}, Shard(dim)));
  // A value's place is the number of boundaries before it.
  rows.push_back(rule({Shard(rows_of_boundaries), Replicate()}, Partial(ReduceOp::sum)));
  for (ReduceOp op : {ReduceOp::max, ReduceOp::min})
    rows.push_back(rule({Replicate(), Partial(op)}, Partial(op)));
  return rows;
}

StrategyRows bucket_rows(const StrategyRequest& call) {
  TensorType turned[] = {call.inputs[1], call.inputs[0]};
  StrategyRows rows = search_rows({turned, call.outputs, call.attributes});
  for (StrategyRow& row : rows) std::swap(row.inputs[0], row.inputs[1]);
  return rows;
}

// Without given limits a histogram spans the least to the greatest of all elements.
StrategyRows histogram_rows(const StrategyRequest& call) {
  StrategyRows rows;
  if (call.attributes.get(attribute::min).as<double>() ==
      call.attributes.get(attribute::max).as<double>())
    return rows;
  for (std::int64_t dim = 0; dim < std::int64_t(call.inputs[0].shape.size()); ++dim)
    rows.push_back(rule({Shard(dim)}, Partial(ReduceOp::sum)));
  return rows;
}

}  // namespace

void sorting_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"sort", along_dim()},
      {"topk", along_dim()},
      {"bucketize", {.rows = bucket_rows}},
      {"searchsorted", {.rows = search_rows}},
      {"histc", {.rows = histogram_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
