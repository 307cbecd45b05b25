#include "core/gradients/families.h"
#include "core/ops/gradient_call.h"
#include "core/ops/neural/softmax_backward.h"

namespace simmesh {

namespace {

Gradients softmax_gradient(const GradientCall& call) {
  return {
      softmax_backward(call.gradient(), call.output(), call.attributes().get<std::int64_t>("dim"))};
}

Gradients log_softmax_gradient(const GradientCall& call) {
  return {log_softmax_backward(call.gradient(), call.output(),
                               call.attributes().get<std::int64_t>("dim"))};
}

}  // namespace

gsl::span<const OpGradient> softmax_gradients() {
  static const OpGradient gradients[] = {
      {"_softmax", {softmax_gradient, {.outputs = 1}}},
      {"_log_softmax", {log_softmax_gradient, {.outputs = 1}}},
  };
  return gradients;
}

}  // namespace simmesh
