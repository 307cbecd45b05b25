#include "core/ops/reductions/order_statistics.h"

#include "core/ops/dim_list.h"
#include "sharding/strategies/families.h"
#include "sharding/strategies/moving_rows.h"

namespace simmesh {

namespace {

// Values and indices lie alike; the dim that the median is taken along may not be split.
StrategyRows median_rows(const StrategyRequest& call) {
  std::size_t rank = call.inputs[0].shape.size();
  std::int64_t median_dim = wrapped_dim(call.attributes.get<std::int64_t>("dim"), rank);
  bool keepdim = call.attributes.get<bool>("keepdim");
  auto output_dim = [=](std::int64_t dim) -> std::int64_t {
    if (dim == median_dim) return -1;
    return keepdim || dim < median_dim ? dim : dim - 1;
  };
  return moving_rows(call, output_dim, {});
}

}  // namespace

gsl::span<const OpStrategy> order_statistics_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"median", {.accepts_short_dims = true}},
      {"nanmedian", {.accepts_short_dims = true}},
      {"median_dim", {.rows = median_rows, .accepts_short_dims = true}},
      {"nanmedian_dim", {.rows = median_rows, .accepts_short_dims = true}},
  };
  return strategies;
}

}  // namespace simmesh
