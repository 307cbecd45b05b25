#include "core/ops/neural/rotary.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/families.h"

namespace simmesh {

namespace {

// Rows and their elements, the last two dims, are whole. Turning is linear, but each product of an
// element and a sine is rounded: the parts of a pending sum would be rounded apart.
StrategyRows turned_rows(const StrategyRequest& call) {
  StrategyRows rows;
  for (std::int64_t dim = 0; dim + 2 < std::int64_t(call.inputs[0].shape.size()); ++dim)
    rows.push_back(common_dim_row(call, dim));
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
