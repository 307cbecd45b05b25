#include "core/ops/neural/pooling.h"

#include "core/ops/attribute_names.h"
#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/local_sizes.h"
#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Windows are along the last two dims.
StrategyRows image_rows(const StrategyRequest& call) {
  StrategyRows rows;
  for (std::int64_t dim = 0; dim + 2 < std::int64_t(call.inputs[0].shape.size()); ++dim)
    rows.push_back(common_dim_row(call, dim));
  return rows;
}

// Averages are linear.
StrategyRows average_rows(const StrategyRequest& call) {
  StrategyRows rows = image_rows(call);
  std::size_t before = rows.empty() ? 0 : 1;
  StrategyRows partial = linear_rows();
  rows.insert(rows.begin() + std::ptrdiff_t(before), partial.begin(), partial.end());
  return linear_in(call, std::move(rows));
}

}  // namespace

void pooling_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"avg_pool2d", {.rows = average_rows, .accepts_short_dims = true}},
      {"avg_pool2d_backward",
       {.rows = average_rows,
        .accepts_short_dims = true,
        .local_attributes = local_sizes(attribute::input_sizes)}},
      {"max_pool2d_with_indices", {.rows = image_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
