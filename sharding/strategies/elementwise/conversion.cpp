#include "core/ops/elementwise/conversion.h"

#include "sharding/strategies/conversion_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

StrategyRows to_copy_rows(const StrategyRequest& call) {
  return elementwise_rows(call, conversion_rows(call.inputs[0].dtype, call.outputs[0].dtype, 1));
}

}  // namespace

void conversion_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"_to_copy", {.rows = to_copy_rows, .accepts_short_dims = true}},
      {"_local_scalar_dense", {}},
  };
  table.add(strategies);
}

}  // namespace simmesh
