#include "sharding/strategies/strategy_of.h"

#include "sharding/strategies/families.h"

namespace simmesh {

const ShardingStrategy* strategy_of(const Op& op) {
  if (op.strategy) return op.strategy.get();
  static const OpTable<ShardingStrategy> table({
      pointwise_strategies(),
      product_strategies(),
  });
  return table.find(op);
}

}  // namespace simmesh
