#include "core/ops/indexing/scattering.h"

#include "core/ops/kernels/places.h"
#include "sharding/strategies/moving_rows.h"
#include "sharding/strategies/scatter_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// The source has the sizes of x except along the dim that is written, where every rank needs all
// indices.
StrategyRows index_writing_rows(const StrategyRequest& call) {
  const Shape& x = call.inputs[0].shape;
  std::int64_t along = indexed_dim(call.attributes, x);
  StrategyRows rows;
  for (std::int64_t dim = 0; dim < std::int64_t(x.size()); ++dim) {
    if (dim == along) continue;
    StrategyRow row = rule({Shard(dim), Replicate()}, Shard(dim));
    if (call.inputs.size() == 3) row.inputs.push_back(Shard(dim));
    rows.push_back(row);
  }
  return rows;
}

// If every rank writes the same value, its average, minimum and maximum are that value.
StrategyRows index_fill_rows(const StrategyRequest& call) {
  StrategyRows rows = index_writing_rows(call);
  add_partial_rows(rows, rule({Partial(), Replicate()}, Partial()),
                   {ReduceOp::avg, ReduceOp::max, ReduceOp::min});
  return rows;
}

// Values written to a partial sum are partial themselves.
StrategyRows index_source_rows(const StrategyRequest& call) {
  StrategyRows rows = index_writing_rows(call);
  rows.push_back(rule({Partial(), Replicate(), Partial()}, Partial()));
  return rows;
}

}  // namespace

void scattering_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"scatter", {.rows = scatter_rows}},
      {"scatter_add", going_on({.rows = scatter_rows})},
      {"index_add", going_on({.rows = index_source_rows, .is_derived = true})},
      {"index_copy", {.rows = index_source_rows, .is_derived = true}},
      {"index_fill", {.rows = index_fill_rows}},
  };
  table.add(strategies);
}

}  // namespace simmesh
