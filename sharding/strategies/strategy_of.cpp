#include "sharding/strategies/strategy_of.h"

#include "sharding/strategies/families.h"

namespace simmesh {

const ShardingStrategy* strategy_of(const Op& op) {
  if (op.strategy) return op.strategy.get();
  static const OpTable<ShardingStrategy> table({
      activation_strategies(),
      alias_strategies(),
      batch_normalization_strategies(),
      comparison_strategies(),
      complex_strategies(),
      composition_strategies(),
      conversion_strategies(),
      convolution_strategies(),
      elementary_strategies(),
      extreme_strategies(),
      factory_strategies(),
      flash_attention_strategies(),
      gamma_strategies(),
      gathering_strategies(),
      gradient_operand_strategies(),
      indexing_strategies(),
      inplace_strategies(),
      interpolation_strategies(),
      joining_strategies(),
      linear_algebra_strategies(),
      logcumsumexp_strategies(),
      logic_strategies(),
      loss_strategies(),
      membership_strategies(),
      normalization_strategies(),
      order_statistics_strategies(),
      pointwise_strategies(),
      pooling_strategies(),
      product_strategies(),
      random_strategies(),
      rearranging_strategies(),
      resampling_strategies(),
      rotary_strategies(),
      running_extreme_strategies(),
      scan_strategies(),
      scatter_reduce_strategies(),
      scattering_strategies(),
      selection_strategies(),
      slope_strategies(),
      softmax_backward_strategies(),
      softmax_strategies(),
      sorting_strategies(),
      spectral_strategies(),
      statistics_strategies(),
      sum_strategies(),
      trigonometry_strategies(),
      unfolding_strategies(),
      view_scattering_strategies(),
      view_strategies(),
  });
  return table.find(op);
}

}  // namespace simmesh
