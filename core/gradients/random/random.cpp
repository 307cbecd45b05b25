#include "core/ops/random/random.h"

#include "core/gradients/families.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/gradient_call.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

Gradients bernoulli_gradient(const GradientCall& call) { return {zeros_like(call.gradient())}; }

Gradients dropout_gradient(const GradientCall& call) {
  double scale = keeping_scale(call.attributes().get<double>("p"));
  return {where(call.output(1), call.gradient(0) * scale, 0)};
}

}  // namespace

gsl::span<const OpGradient> random_gradients() {
  static const OpGradient gradients[] = {
      {"bernoulli", {bernoulli_gradient}},
      {"native_dropout", {dropout_gradient, {.outputs = 0b10}}},
  };
  return gradients;
}

}  // namespace simmesh
