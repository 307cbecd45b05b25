#include "core/ops/neural/normalization.h"

#include "core/ops/kernels/normalized_groups.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Returns the row in which the first input and all outputs are split, and the parameters are whole.
StrategyRow outer_row(const StrategyRequest& call, std::int64_t dim) {
  StrategyRow row;
  row.inputs.push_back(Shard(dim));
  for (const TensorType& parameter : call.inputs.subspan(1))
    row.inputs.push_back(parameter.is_defined ? std::optional(Replicate()) : std::nullopt);
  row.outputs.assign(call.outputs.size(), Shard(dim));
  return row;
}

// Rows for all dims before those that are normalised.
StrategyRows outer_rows(const StrategyRequest& call) {
  std::size_t normalized = call.attributes.get(attribute::normalized_shape).size();
  StrategyRows rows;
  for (std::size_t dim = 0; dim + normalized < call.inputs[0].shape.size(); ++dim)
    rows.push_back(outer_row(call, std::int64_t(dim)));
  return rows;
}

}  // namespace

void normalization_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"native_layer_norm", {.rows = outer_rows, .accepts_short_dims = true}},
      {"_fused_rms_norm", {.rows = outer_rows, .accepts_short_dims = true}},
      {"native_group_norm",
       {.rows = [](const StrategyRequest& call) { return StrategyRows{outer_row(call, 0)}; }}},
  };
  table.add(strategies);
}

}  // namespace simmesh
