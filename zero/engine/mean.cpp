#include "zero/engine/mean.h"

#include "core/arithmetic/sums/scaled_sums.h"
#include "core/arithmetic/unrounded.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh::zero {

namespace {

Tensor over(const Tensor& tensor, double divisor) {
  return divisor == 1.0 ? tensor : div(tensor, divisor);
}

}  // namespace

Tensor MeanOf::begin(Tensor gradients) const {
  if (is_sum && !current_arithmetic().is_exact()) return gradients;
  if (is_sum && before * after != 1.0 && gradients.has_elements())
    write_unrounded(gradients, scaled(unrounded(gradients), before * after));
  return over(gradients, before);
}

Tensor MeanOf::end(const Tensor& reduced) const {
  return is_sum && !current_arithmetic().is_exact() ? reduced : over(reduced, after);
}

}  // namespace simmesh::zero
