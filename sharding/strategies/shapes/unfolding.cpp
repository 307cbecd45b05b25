#include "core/ops/shapes/unfolding.h"

#include "core/ops/dim_list.h"
#include "sharding/strategies/families.h"
#include "sharding/strategies/moving_rows.h"

namespace simmesh {

namespace {

// The windows are along one dim.
StrategyRows unfold_rows(const StrategyRequest& call) {
  std::int64_t cut =
      wrapped_dim(call.attributes.get<std::int64_t>("dim"), call.inputs[0].shape.size());
  return moving_rows(call, [=](std::int64_t dim) { return dim == cut ? -1 : dim; });
}

}  // namespace

gsl::span<const OpStrategy> unfolding_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"unfold", {.rows = unfold_rows, .accepts_short_dims = true}},
  };
  return strategies;
}

}  // namespace simmesh
