#include "core/ops/indexing/view_scattering.h"

#include "core/ops/kernels/places.h"
#include "sharding/strategies/moving_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// The source has the dims of x, or all but the one that is written to.
StrategyRows rows_beside_dim(const StrategyRequest& call) {
  const Shape& x = call.inputs[0].shape;
  std::int64_t written = indexed_dim(call.attributes, x);
  bool has_all = call.inputs[1].shape.size() == x.size();
  StrategyRows rows;
  for (std::int64_t dim = 0; dim < std::int64_t(x.size()); ++dim) {
    std::int64_t of_source = dim - std::int64_t(!has_all && dim > written);
    if (dim != written) rows.push_back(rule({Shard(dim), Shard(of_source)}, Shard(dim)));
  }
  return rows;
}

// Every element comes from one of the two, so partial tensors give a partial one.
StrategyRows slice_scatter_rows(const StrategyRequest& call) {
  StrategyRows rows = rows_beside_dim(call);
  add_partial_rows(rows, rule({Partial(), Partial()}, Partial()));
  return rows;
}

}  // namespace

void view_scattering_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"select_scatter", {.rows = rows_beside_dim}},
      {"slice_scatter", {.rows = slice_scatter_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
