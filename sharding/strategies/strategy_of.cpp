#include "sharding/strategies/strategy_of.h"

#include "sharding/strategies/families.h"

namespace simmesh {

const ShardingStrategy* strategy_of(const Op& op) {
  if (op.strategy) return op.strategy.get();
  static const OpTable<ShardingStrategy> table({
      activation_strategies(),
      comparison_strategies(),
      complex_strategies(),
      conversion_strategies(),
      elementary_strategies(),
      factory_strategies(),
      inplace_strategies(),
      interpolation_strategies(),
      logic_strategies(),
      pointwise_strategies(),
      product_strategies(),
      random_strategies(),
      selection_strategies(),
      trigonometry_strategies(),
  });
  return table.find(op);
}

}  // namespace simmesh
