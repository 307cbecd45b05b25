#include "core/ops/elementwise/gamma.h"

#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void gamma_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"lgamma", elementwise()},
      {"digamma", elementwise()},
      {"trigamma", elementwise()},
  };
  table.add(strategies);
}

}  // namespace simmesh
