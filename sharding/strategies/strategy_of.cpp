#include "sharding/strategies/strategy_of.h"

#include "sharding/strategies/strategy_table.h"

namespace simmesh {

const ShardingStrategy* strategy_of(const Op& op) {
  if (op.strategy) return op.strategy.get();
  static const StrategyTable table = collected_strategies();
  return table.find(op);
}

}  // namespace simmesh
