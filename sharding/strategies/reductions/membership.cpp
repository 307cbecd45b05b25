#include "core/ops/reductions/membership.h"

#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Each element is compared with all others. Pieces are preferred to the whole.
StrategyRows membership_rows(const StrategyRequest& call) {
  StrategyRows rows;
  for (std::int64_t dim = 0; dim < std::int64_t(call.inputs[0].shape.size()); ++dim)
    rows.push_back(rule({Shard(dim), Replicate()}, Shard(dim)));
  rows.push_back(rule({Replicate(), Replicate()}, Replicate()));
  return rows;
}

}  // namespace

void membership_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"isin", {.rows = membership_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
