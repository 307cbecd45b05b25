#include "core/ops/reductions/scans.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void scans_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"cumsum", along_dim(linear_rows())},
      {"cumprod", along_dim()},
  };
  table.add(strategies);
}

}  // namespace simmesh
