#include "core/gradients/spread.h"

#include "core/ops/attribute_names.h"
#include "core/ops/kernels/folded.h"
#include "core/ops/kernels/reduction_call.h"
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

}  // namespace simmesh
