#include "core/ops/reductions/logcumsumexp.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void logcumsumexp_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"logcumsumexp", along_dim()},
      {"_logcumsumexp_backward", along_dim()},
      {"_logcumsumexp_forward", along_dim()},
  };
  table.add(strategies);
}

}  // namespace simmesh
