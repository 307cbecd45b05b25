#include "core/gradients/families.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/reductions/sums.h"

namespace simmesh {

namespace {

Gradients softmax_gradient(const GradientCall& call) {
  const Tensor& y = call.output();
  Tensor weighted = call.gradient() * y;
  if (y.element_count() == 0) return {weighted};
  return {weighted - y * sum(weighted, call.attributes().get<std::int64_t>("dim"), true)};
}

Gradients log_softmax_gradient(const GradientCall& call) {
  const Tensor& y = call.output();
  Tensor g = call.gradient();
  if (y.element_count() == 0) return {g};
  // In a statement of its own, because compilers evaluate operands in different orders.
  Tensor total = sum(g, call.attributes().get<std::int64_t>("dim"), true);
  return {g - exp(y) * total};
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
