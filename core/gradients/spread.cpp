#include "core/gradients/spread.h"

#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/kernels/folded.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

Tensor kept(const GradientCall& call, const Tensor& result) {
  if (call.attributes().get_or(attribute::keepdim, false)) return result;
  const Shape& shape = call.input_type(0).shape;
  return reshape(result, reduced_shape(shape, reduced_dims(call.attributes(), shape.size()), true));
}

Tensor spread(const GradientCall& call, const Tensor& result) {
  return expand(kept(call, result), call.input_type(0).shape);
}

// Each step is an op of PyTorch's, and brings distributed operands to rest anew.
Gradients evenly_shared(const GradientCall& call) {
  const Tensor &x = call.input(0), &result = call.output();
  Tensor is_nan = isnan(x);
  is_nan = logical_and(is_nan, isnan(result));
  Tensor winners = logical_or(eq(x, result), is_nan);
  Tensor share = call.gradient() / sum(winners);
  return {winners * share};
}

}  // namespace simmesh
