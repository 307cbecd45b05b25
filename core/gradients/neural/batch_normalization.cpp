#include "core/ops/neural/batch_normalization.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/normalized_gradient.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/kernels/normalized_groups.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Gradients batch_norm_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  NormalizedGroups groups = batch_norm_groups(call.input_type(0).shape);
  NormalizedGradient b = normalized_gradient(normalized_operands(call, true), groups);
  const TensorType& x = call.input_type(0);
  if (call.needs(0)) {
    // Running statistics don't depend on x.
    if (call.attributes().get(attribute::training))
      result[0] = normalized_input_gradient(call, groups, b, true);
    else
      result[0] = to(reshape(b.g * b.rstd, x.shape), x.dtype);
  }
  if (call.needs(1)) result[1] = channel_sum(call, 1, b.raw * b.normalized);
  if (call.needs(2)) result[2] = channel_sum(call, 2, b.raw);
  return result;
}

}  // namespace

void batch_normalization_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"native_batch_norm", {batch_norm_gradient, {.inputs = 0b011, .outputs = 0b110}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
