#include "core/ops/neural/pooling.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/families.h"

namespace simmesh {

namespace {

// Windows go along the last two dims.
StrategyRows image_rows(const StrategyRequest& call) {
  StrategyRows rows;
  for (std::int64_t dim = 0; dim + 2 < std::int64_t(call.inputs[0].shape.size()); ++dim)
    rows.push_back(common_dim_row(call, dim));
  return rows;
}

}  // namespace

gsl::span<const OpStrategy> pooling_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"max_pool2d_with_indices", {.rows = image_rows, .accepts_short_dims = true}},
  };
  return strategies;
}

}  // namespace simmesh
