#include "core/ops/reductions/logcumsumexp.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

Gradients logcumsumexp_gradient(const GradientCall& call) {
  return {logcumsumexp_reverse(call.gradient(), call.input(0), call.output(),
                               call.attributes().get(attribute::dim))};
}

// The gradient of each weighted scan is made of the other one.
Gradients weighted_scan_gradient(const GradientCall& call, bool is_reverse) {
  Gradients result(3);
  Tensor g = call.gradient();
  const Tensor &weights = call.input(0), &x = call.input(1), &y = call.input(2);
  auto dim = call.attributes().get(attribute::dim);
  Tensor other =
      is_reverse ? logcumsumexp_forward(g, x, y, dim) : logcumsumexp_reverse(g, x, y, dim);
  result[0] = other;
  if (call.needs(1)) result[1] = is_reverse ? g * call.output() : weights * other;
  if (call.needs(2)) result[2] = neg(is_reverse ? weights * other : g * call.output());
  return result;
}

Gradients reverse_scan_gradient(const GradientCall& call) {
  return weighted_scan_gradient(call, true);
}
Gradients forward_scan_gradient(const GradientCall& call) {
  return weighted_scan_gradient(call, false);
}

}  // namespace

void logcumsumexp_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"logcumsumexp", {logcumsumexp_gradient, {.inputs = 1, .outputs = 1}}},
      {"_logcumsumexp_backward", {reverse_scan_gradient, {.inputs = 0b111, .outputs = 1}}},
      {"_logcumsumexp_forward", {forward_scan_gradient, {.inputs = 0b111, .outputs = 1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
