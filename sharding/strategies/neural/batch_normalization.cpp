#include "core/ops/neural/batch_normalization.h"

#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Channels are independent of each other; the images of a batch are not.
StrategyRows channel_rows(const StrategyRequest& call) {
  StrategyRow row;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    row.inputs.push_back(call.inputs[i].is_defined ? std::optional(Shard(i == 0)) : std::nullopt);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) row.outputs.push_back(Shard(i == 0));
  return {row};
}

}  // namespace

void batch_normalization_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"native_batch_norm", {.rows = channel_rows}},
  };
  table.add(strategies);
}

}  // namespace simmesh
