#include "sharding/strategies/strategy_of.h"

#include "sharding/strategies/families.h"

namespace simmesh {

const ShardingStrategy* strategy_of(const Op& op) {
  if (op.strategy) return op.strategy.get();
  static const OpTable<ShardingStrategy> table({
      pointwise_strategies(),
      product_strategies(),
      gathering_strategies(),
      indexing_strategies(),
      joining_strategies(),
      rearranging_strategies(),
      scatter_reduce_strategies(),
      scattering_strategies(),
      unfolding_strategies(),
      view_strategies(),
  });
  return table.find(op);
}

}  // namespace simmesh
