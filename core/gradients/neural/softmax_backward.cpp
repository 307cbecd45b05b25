#include "core/ops/neural/softmax_backward.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/reductions/sums.h"

namespace simmesh {

namespace {

std::int64_t dim_of(const GradientCall& call) { return call.attributes().get(attribute::dim); }

// The derivative of softmax is symmetric.
Gradients softmax_backward_gradient(const GradientCall& call) {
  Gradients result(2);
  const Tensor &g = call.input(0), &y = call.input(1);
  Tensor incoming = call.gradient();
  if (call.needs(0)) result[0] = softmax_backward(incoming, y, dim_of(call));
  if (call.needs(1)) {
    Tensor of_gradient = sum(g * y, dim_of(call), true);
    Tensor of_incoming = sum(incoming * y, dim_of(call), true);
    result[1] = incoming * g - incoming * of_gradient - g * of_incoming;
  }
  return result;
}

Gradients log_softmax_backward_gradient(const GradientCall& call) {
  Gradients result(2);
  Tensor incoming = call.gradient(), likely = exp(call.input(1));
  Tensor weighted = incoming * likely;
  if (call.needs(0)) result[0] = incoming - sum(weighted, dim_of(call), true);
  if (call.needs(1)) result[1] = neg(weighted * sum(call.input(0), dim_of(call), true));
  return result;
}

}  // namespace

void softmax_backward_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"_softmax_backward_data", {softmax_backward_gradient, {.inputs = 0b11}}},
      {"_log_softmax_backward_data", {log_softmax_backward_gradient, {.inputs = 0b11}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
