#include "core/ops/indexing/resampling.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/families.h"
#include "sharding/strategies/local_sizes.h"
#include "sharding/strategies/pending_rows.h"

namespace simmesh {

namespace {

// Images [n, channels, ...] of which all dims behind the second are resampled.
StrategyRows image_batch_rows(const StrategyRequest& call) {
  StrategyRows rows = {common_dim_row(call, 0), common_dim_row(call, 1)};
  for (const StrategyRow& row : linear_rows()) rows.push_back(row);
  return linear_in(call, std::move(rows));
}

// Dims that don't turn stay as they are.
StrategyRows turning_rows(const StrategyRequest& call) {
  return kept_dim_rows(call, call.attributes.get<Dims>("dims"));
}

}  // namespace

gsl::span<const OpStrategy> resampling_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"upsample_nearest", {.rows = image_batch_rows}},
      {"upsample_nearest_backward",
       {.rows = image_batch_rows, .local_attributes = local_sizes("input_sizes")}},
      {"rot90", {.rows = turning_rows}},
  };
  return strategies;
}

}  // namespace simmesh
