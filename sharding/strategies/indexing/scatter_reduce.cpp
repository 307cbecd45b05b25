#include "core/ops/indexing/scattering.h"
#include "sharding/strategies/scatter_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void scatter_reduce_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"scatter_reduce", {.rows = scatter_rows}},
  };
  table.add(strategies);
}

}  // namespace simmesh
