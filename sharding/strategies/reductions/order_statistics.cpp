#include "core/ops/reductions/order_statistics.h"

#include "core/ops/attribute_names.h"
#include "core/ops/dim_list.h"
#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// The rank of an element along a dim is known where the dim is whole.
StrategyRows median_rows(const StrategyRequest& call) {
  std::int64_t dim = wrapped_dim(call.attributes.get(attribute::dim), call.inputs[0].shape.size());
  Attributes reduction = {attribute::dims = Dims{dim},
                          attribute::keepdim = call.attributes.get(attribute::keepdim)};
  return reduction_rows({call.inputs, call.outputs, reduction});
}

}  // namespace

void order_statistics_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"median", {.accepts_short_dims = true}},
      {"median_dim", {.rows = median_rows, .accepts_short_dims = true}},
      {"nanmedian_dim", {.rows = median_rows, .accepts_short_dims = true}},
      {"mode", {.rows = median_rows, .accepts_short_dims = true}},
      {"nanmedian", {.accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
