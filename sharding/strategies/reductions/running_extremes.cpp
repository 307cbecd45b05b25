#include "core/ops/reductions/running_extremes.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void running_extremes_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"cummax", along_dim()},
      {"cummin", along_dim()},
  };
  table.add(strategies);
}

}  // namespace simmesh
