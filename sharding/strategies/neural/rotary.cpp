#include "core/ops/neural/rotary.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// The elements of a row are whole; rows are split together with their positions, and whole without
// any. Rotation is linear, but each product of an element and a sine is rounded, so the parts of a
// partial sum would be rounded separately.
StrategyRows turned_rows(const StrategyRequest& call) {
  bool has_positions = call.inputs.size() > 1;
  std::int64_t of_rows = std::int64_t(call.inputs[0].shape.size()) - 2;
  StrategyRows rows;
  for (std::int64_t dim = 0; dim < of_rows; ++dim) {
    StrategyRow row = common_dim_row(call, dim);
    if (has_positions) row.inputs[1] = Replicate();
    rows.push_back(std::move(row));
  }
  if (has_positions) rows.push_back(rule({Shard(of_rows), Shard(0)}, Shard(of_rows)));
  return rows;
}

}  // namespace

void rotary_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"rotary_embedding", {.rows = turned_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
