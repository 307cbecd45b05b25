#include "core/ops/neural/softmax.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void softmax_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"_softmax", along_dim()},
      {"_log_softmax", along_dim()},
  };
  table.add(strategies);
}

}  // namespace simmesh
