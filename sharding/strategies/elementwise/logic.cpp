#include "core/ops/elementwise/logic.h"

#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void logic_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"logical_and", elementwise()}, {"logical_or", elementwise()},
      {"logical_xor", elementwise()}, {"logical_not", elementwise()},
      {"bitwise_and", elementwise()}, {"bitwise_or", elementwise()},
      {"bitwise_xor", elementwise()}, {"bitwise_not", elementwise()},
      {"isnan", elementwise()},       {"isinf", elementwise()},
      {"isfinite", elementwise()},
  };
  table.add(strategies);
}

}  // namespace simmesh
