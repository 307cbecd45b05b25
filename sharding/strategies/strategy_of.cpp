#include "sharding/strategies/strategy_of.h"

#include "sharding/strategies/families.h"

namespace simmesh {

const ShardingStrategy* strategy_of(const Op& op) {
  if (op.strategy) return op.strategy.get();
  static const OpTable<ShardingStrategy> table({
<<<<<<< HEAD
      activation_strategies(),
      comparison_strategies(),
      complex_strategies(),
      conversion_strategies(),
      elementary_strategies(),
      factory_strategies(),
      inplace_strategies(),
      interpolation_strategies(),
      logic_strategies(),
=======
      batch_normalization_strategies(),
      convolution_strategies(),
      extreme_strategies(),
      flash_attention_strategies(),
      linear_algebra_strategies(),
      logcumsumexp_strategies(),
      loss_strategies(),
      normalization_strategies(),
      order_statistics_strategies(),
>>>>>>> 21f32dd2a9d5043d364cd9429a983b1c8e01be93
      pointwise_strategies(),
      pooling_strategies(),
      product_strategies(),
<<<<<<< HEAD
      random_strategies(),
      selection_strategies(),
      trigonometry_strategies(),
=======
      running_extreme_strategies(),
      scan_strategies(),
      softmax_strategies(),
      sorting_strategies(),
      spectral_strategies(),
      statistics_strategies(),
      sum_strategies(),
>>>>>>> 21f32dd2a9d5043d364cd9429a983b1c8e01be93
  });
  return table.find(op);
}

}  // namespace simmesh
