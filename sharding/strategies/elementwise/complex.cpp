#include "core/ops/elementwise/complex.h"

#include <algorithm>

#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// The parts of a number stay together: no row splits the last dim.
ShardingStrategy of_pairs(StrategyRows partial) {
  auto rows = [partial = std::move(partial)](const StrategyRequest& call) {
    StrategyRows all = elementwise_rows(call, partial);
    std::int64_t last = std::int64_t(call.outputs[0].shape.size()) - 1;
    all.erase(
        std::remove_if(all.begin(), all.end(),
                       [last](const StrategyRow& row) { return row.outputs[0]->splits(last); }),
        all.end());
    return all;
  };
  return {.rows = std::move(rows), .accepts_short_dims = true};
}

StrategyRows complex_abs_rows(const StrategyRequest& call) {
  StrategyRows rows;
  for (std::int64_t dim = 0; dim < std::int64_t(call.outputs[0].shape.size()); ++dim)
    rows.push_back(rule({Shard(dim)}, Shard(dim)));
  return rows;
}

}  // namespace

void complex_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"complex_abs", {.rows = complex_abs_rows, .accepts_short_dims = true}},
      {"complex_conj", of_pairs(linear_rows())},
      {"complex_mul", of_pairs(product_rows())},
  };
  table.add(strategies);
}

}  // namespace simmesh
