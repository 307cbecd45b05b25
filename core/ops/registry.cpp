#include <algorithm>
#include <vector>

#include <simmesh/core/ops/activations.h>
#include <simmesh/core/ops/batch_normalization.h>
#include <simmesh/core/ops/comparison.h>
#include <simmesh/core/ops/complex.h>
#include <simmesh/core/ops/conversion.h>
#include <simmesh/core/ops/convolution.h>
#include <simmesh/core/ops/elementary.h>
#include <simmesh/core/ops/extremes.h>
#include <simmesh/core/ops/factories.h>
#include <simmesh/core/ops/flash_attention.h>
#include <simmesh/core/ops/gathering.h>
#include <simmesh/core/ops/indexing.h>
#include <simmesh/core/ops/inplace.h>
#include <simmesh/core/ops/interpolation.h>
#include <simmesh/core/ops/joining.h>
#include <simmesh/core/ops/linear_algebra.h>
#include <simmesh/core/ops/logcumsumexp.h>
#include <simmesh/core/ops/logic.h>
#include <simmesh/core/ops/losses.h>
#include <simmesh/core/ops/normalization.h>
#include <simmesh/core/ops/order_statistics.h>
#include <simmesh/core/ops/pointwise.h>
#include <simmesh/core/ops/pooling.h>
#include <simmesh/core/ops/products.h>
#include <simmesh/core/ops/random.h>
#include <simmesh/core/ops/rearranging.h>
#include <simmesh/core/ops/reductions.h>
#include <simmesh/core/ops/registry.h>
#include <simmesh/core/ops/running_extremes.h>
#include <simmesh/core/ops/scans.h>
#include <simmesh/core/ops/scattering.h>
#include <simmesh/core/ops/selection.h>
#include <simmesh/core/ops/softmax.h>
#include <simmesh/core/ops/sorting.h>
#include <simmesh/core/ops/spectral.h>
#include <simmesh/core/ops/statistics.h>
#include <simmesh/core/ops/trigonometry.h>
#include <simmesh/core/ops/unfolding.h>
#include <simmesh/core/ops/views.h>

namespace simmesh {

namespace {

std::vector<const Op*> gathered_ops() {
  std::vector<const Op*> ops;
  for (gsl::span<const Op* const> family : {
           activation_ops(),
           batch_normalization_ops(),
           comparison_ops(),
           complex_ops(),
           conversion_ops(),
           convolution_ops(),
           elementary_ops(),
           extreme_ops(),
           factory_ops(),
           flash_attention_ops(),
           gathering_ops(),
           indexing_ops(),
           inplace_ops(),
           interpolation_ops(),
           joining_ops(),
           linear_algebra_ops(),
           logcumsumexp_ops(),
           logic_ops(),
           loss_ops(),
           normalization_ops(),
           order_statistics_ops(),
           pointwise_ops(),
           pooling_ops(),
           product_ops(),
           random_ops(),
           rearranging_ops(),
           reduction_ops(),
           running_extreme_ops(),
           scan_ops(),
           scatter_reduce_ops(),
           scattering_ops(),
           selection_ops(),
           softmax_ops(),
           sorting_ops(),
           spectral_ops(),
           statistics_ops(),
           trigonometry_ops(),
           unfolding_ops(),
           view_ops(),
       })
    ops.insert(ops.end(), family.begin(), family.end());
  return ops;
}

}  // namespace

gsl::span<const Op* const> all_ops() {
  static const std::vector<const Op*> ops = gathered_ops();
  return ops;
}

const Op* find_op(std::string_view name) {
  auto ops = all_ops();
  auto found = std::find_if(ops.begin(), ops.end(), [&](const Op* op) { return op->name == name; });
  return found == ops.end() ? nullptr : *found;
}

}  // namespace simmesh
