#include "core/ops/neural/class_targets.h"

#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

std::int64_t class_dim(std::size_t rank) { return rank == 1 ? 0 : 1; }

ClassTargets class_targets(const Tensor& target, std::int64_t dim, std::int64_t ignore_index) {
  Tensor ignored = eq(target, ignore_index);
  Tensor valid = masked_fill(target, ignored, 0);
  return {unsqueeze(ignored, dim), unsqueeze(valid, dim)};
}

Tensor target_weights(const ClassTargets& targets, const Tensor& weight, DType dtype) {
  Tensor chosen = weight.is_defined()
                      ? reshape(index_select(weight, 0, reshape(targets.indices, {-1})),
                                targets.indices.shape())
                      : ones_like(targets.indices, dtype);
  return masked_fill(chosen, targets.ignored, 0);
}

}  // namespace simmesh
