#include "core/gradients/gradient_of.h"

#include "core/gradients/families.h"

namespace simmesh {

const Gradient* gradient_of(const Op& op) {
  if (op.gradient.rule) return &op.gradient;
  static const OpTable<Gradient> table({
      alias_gradients(),
      gamma_gradients(),
      slope_gradients(),
      resampling_gradients(),
      view_scattering_gradients(),
      composition_gradients(),
      softmax_backward_gradients(),
      activation_gradients(),
      batch_normalization_gradients(),
      complex_gradients(),
      conversion_gradients(),
      convolution_gradients(),
      elementary_gradients(),
      extreme_gradients(),
      flash_attention_gradients(),
      gathering_gradients(),
      indexing_gradients(),
      inplace_gradients(),
      interpolation_gradients(),
      joining_gradients(),
      linear_algebra_gradients(),
      logcumsumexp_gradients(),
      loss_gradients(),
      normalization_gradients(),
      order_statistics_gradients(),
      pointwise_gradients(),
      pooling_gradients(),
      product_gradients(),
      random_gradients(),
      rearranging_gradients(),
      rotary_gradients(),
      running_extreme_gradients(),
      scan_gradients(),
      scatter_reduce_gradients(),
      scattering_gradients(),
      selection_gradients(),
      softmax_gradients(),
      sorting_gradients(),
      spectral_gradients(),
      statistics_gradients(),
      sum_gradients(),
      trigonometry_gradients(),
      unfolding_gradients(),
      view_gradients(),
  });
  return table.find(op);
}

}  // namespace simmesh
