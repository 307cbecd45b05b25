#include "core/ops/neural/attention.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Heads that share a key and value head stay together: a split of the key heads must split the
// query heads at the same places.
bool keeps_shared_heads(const MeshRequest& request, const MeshCandidate& candidate) {
  const Shape &q = request.call.inputs[0].shape, &k = request.call.inputs[1].shape;
  if (q[1] == k[1]) return true;
  std::int64_t shards = 1;
  for (std::size_t i = 0; i < candidate.inputs[1]->size(); ++i) {
    const Placement& one = (*candidate.inputs[1])[i];
    if (one.splits(1)) shards *= request.mesh_shape[i] * one.split_factor();
  }
  return k[1] % shards == 0;
}

ShardingStrategy attention_strategy() {
  return {.rows =
              [](const StrategyRequest& call) {
                return StrategyRows{common_dim_row(call, 1), common_dim_row(call, 0)};
              },
          .filter = keeps_shared_heads};
}

// Batches, heads, queries and columns of the values are independent, and the values enter linearly.
StrategyRows product_attention_rows(const StrategyRequest& call) {
  Placement whole = Replicate();
  StrategyRows rows = {common_dim_row(call, 0), common_dim_row(call, 1),
                       rule({Shard(2), whole, whole}, Shard(2)),
                       rule({whole, whole, Shard(3)}, Shard(3))};
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg})
    rows.push_back(rule({whole, whole, Partial(op)}, Partial(op)));
  return rows;
}

}  // namespace

void attention_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"scaled_dot_product_attention", {.rows = product_attention_rows, .is_derived = true}},
      {"flash_attention", attention_strategy()},
      {"flash_attention_backward", attention_strategy()},
  };
  table.add(strategies);
}

}  // namespace simmesh
