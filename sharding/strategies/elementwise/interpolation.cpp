#include "core/ops/elementwise/interpolation.h"

#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void interpolation_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"lerp", elementwise()},
      {"addcmul", elementwise()},
      {"addcdiv", elementwise()},
  };
  table.add(strategies);
}

}  // namespace simmesh
