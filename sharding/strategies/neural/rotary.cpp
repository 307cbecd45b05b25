#include "core/ops/neural/rotary.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/families.h"
#include "sharding/strategies/pending_rows.h"

namespace simmesh {

namespace {

// Rows and their elements, the last two dims, are whole; turning is linear.
StrategyRows turned_rows(const StrategyRequest& call) {
  StrategyRows rows;
  for (std::int64_t dim = 0; dim + 2 < std::int64_t(call.inputs[0].shape.size()); ++dim)
    rows.push_back(common_dim_row(call, dim));
  for (const StrategyRow& row : linear_rows()) rows.push_back(row);
  return rows;
}

}  // namespace

gsl::span<const OpStrategy> rotary_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"rotary_embedding", {.rows = turned_rows, .accepts_short_dims = true}},
  };
  return strategies;
}

}  // namespace simmesh
