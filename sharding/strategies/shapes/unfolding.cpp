#include "core/ops/shapes/unfolding.h"

#include "core/ops/attribute_names.h"
#include "core/ops/dim_list.h"
#include "sharding/strategies/moving_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// The windows are along one dim.
StrategyRows unfold_rows(const StrategyRequest& call) {
  std::int64_t cut = wrapped_dim(call.attributes.get(attribute::dim), call.inputs[0].shape.size());
  return moving_rows(call, [=](std::int64_t dim) { return dim == cut ? -1 : dim; });
}

}  // namespace

void unfolding_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"unfold", {.rows = unfold_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
