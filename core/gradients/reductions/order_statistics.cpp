#include "core/gradients/families.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/reductions/sums.h"

namespace simmesh {

namespace {

// Elements that equal the median share its gradient.
Gradients median_gradient(const GradientCall& call) {
  const Tensor &x = call.input(0), &result = call.output();
  Tensor winners = logical_or(eq(x, result), logical_and(isnan(x), isnan(result)));
  return {call.gradient() * winners / sum(winners)};
}

}  // namespace

gsl::span<const OpGradient> order_statistics_gradients() {
  static const OpGradient gradients[] = {
      {"median", {median_gradient, {.inputs = 1, .outputs = 1}}},
      {"nanmedian", {median_gradient, {.inputs = 1, .outputs = 1}}},
  };
  return gradients;
}

}  // namespace simmesh
