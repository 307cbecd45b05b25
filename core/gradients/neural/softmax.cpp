#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/gradient_call.h"
#include "core/ops/neural/softmax_backward.h"

namespace simmesh {

namespace {

Gradients softmax_gradient(const GradientCall& call) {
  return {softmax_backward(call.gradient(), call.output(), call.attributes().get(attribute::dim))};
}

Gradients log_softmax_gradient(const GradientCall& call) {
  return {
      log_softmax_backward(call.gradient(), call.output(), call.attributes().get(attribute::dim))};
}

}  // namespace

void softmax_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"_softmax", {softmax_gradient, {.outputs = 1}}},
      {"_log_softmax", {log_softmax_gradient, {.outputs = 1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
