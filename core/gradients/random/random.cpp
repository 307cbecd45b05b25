#include "core/ops/random/random.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/gradient_call.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

Gradients bernoulli_gradient(const GradientCall& call) { return {zeros_like(call.gradient())}; }

Gradients dropout_gradient(const GradientCall& call) {
  double scale = keeping_scale(call.attributes().get(attribute::p));
  return {where(call.output(1), call.gradient(0) * scale, 0)};
}

}  // namespace

void random_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"rand", {}},  // no inputs
      {"randn", {}},
      {"rand_like", {}},  // independent of the elements of the input
      {"randn_like", {}},
      {"bernoulli", {bernoulli_gradient}},
      {"native_dropout", {dropout_gradient, {.outputs = 0b10}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
