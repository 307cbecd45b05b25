#include "core/ops/neural/softmax_backward.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void softmax_backward_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"_softmax_backward_data", along_dim()},
      {"_log_softmax_backward_data", along_dim()},
  };
  table.add(strategies);
}

}  // namespace simmesh
