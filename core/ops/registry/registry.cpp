#include "core/ops/registry/registry.h"

#include <algorithm>
#include <vector>

#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/backward.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/complex.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/gamma.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/interpolation.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/elementwise/trigonometry.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/indexing/resampling.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/indexing/view_scattering.h"
#include "core/ops/matrices/compositions.h"
#include "core/ops/matrices/linear_algebra.h"
#include "core/ops/matrices/products.h"
#include "core/ops/matrices/spectral.h"
#include "core/ops/neural/batch_normalization.h"
#include "core/ops/neural/convolution.h"
#include "core/ops/neural/flash_attention.h"
#include "core/ops/neural/gradient_operands.h"
#include "core/ops/neural/losses.h"
#include "core/ops/neural/normalization.h"
#include "core/ops/neural/pooling.h"
#include "core/ops/neural/rotary.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/neural/softmax_backward.h"
#include "core/ops/random/random.h"
#include "core/ops/reductions/extremes.h"
#include "core/ops/reductions/logcumsumexp.h"
#include "core/ops/reductions/membership.h"
#include "core/ops/reductions/order_statistics.h"
#include "core/ops/reductions/running_extremes.h"
#include "core/ops/reductions/scans.h"
#include "core/ops/reductions/sorting.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/aliases.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/unfolding.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

std::vector<const Op*> gathered_ops() {
  std::vector<const Op*> ops;
  for (gsl::span<const Op* const> family : {
           activation_ops(),
           alias_ops(),
           batch_normalization_ops(),
           comparison_ops(),
           complex_ops(),
           conversion_ops(),
           composition_ops(),
           convolution_ops(),
           elementary_ops(),
           extreme_ops(),
           factory_ops(),
           flash_attention_ops(),
           gamma_ops(),
           gathering_ops(),
           gradient_operand_ops(),
           indexing_ops(),
           inplace_ops(),
           interpolation_ops(),
           joining_ops(),
           linear_algebra_ops(),
           logcumsumexp_ops(),
           logic_ops(),
           loss_ops(),
           membership_ops(),
           normalization_ops(),
           order_statistics_ops(),
           pointwise_ops(),
           pooling_ops(),
           product_ops(),
           random_ops(),
           rearranging_ops(),
           resampling_ops(),
           rotary_ops(),
           running_extreme_ops(),
           scan_ops(),
           scatter_reduce_ops(),
           scattering_ops(),
           selection_ops(),
           slope_ops(),
           softmax_backward_ops(),
           softmax_ops(),
           sorting_ops(),
           spectral_ops(),
           statistics_ops(),
           sum_ops(),
           trigonometry_ops(),
           unfolding_ops(),
           view_ops(),
           view_scattering_ops(),
       })
    ops.insert(ops.end(), family.begin(), family.end());
  return ops;
}

std::vector<const Op*> sorted_ops() {
  auto ops = all_ops();
  std::vector<const Op*> sorted(ops.begin(), ops.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Op* a, const Op* b) { return a->name < b->name; });
  return sorted;
}

}  // namespace

gsl::span<const Op* const> all_ops() {
  static const std::vector<const Op*> ops = gathered_ops();
  return ops;
}

const Op* find_op(std::string_view name) {
  static const std::vector<const Op*> sorted = sorted_ops();
  auto found =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [](const Op* op, std::string_view wanted) { return op->name < wanted; });
  return found != sorted.end() && (*found)->name == name ? *found : nullptr;
}

}  // namespace simmesh
