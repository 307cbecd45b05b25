#include "core/ops/neural/flash_attention.h"

#include "core/gradients/families.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

Gradients flash_attention_gradient(const GradientCall& call) {
  auto [q, k, v] =
      flash_attention_backward(call.input(0), call.input(1), call.input(2), call.gradient(),
                               {.is_causal = call.attributes().get<bool>("is_causal"),
                                .scale = call.attributes().get<double>("scale")});
  return {q, k, v};
}

}  // namespace

gsl::span<const OpGradient> flash_attention_gradients() {
  static const OpGradient gradients[] = {
      // A device's kernel reads the output again, so it is saved; ours would not need it.
      {"flash_attention", {flash_attention_gradient, {.inputs = 0b111, .outputs = 1}}},
  };
  return gradients;
}

}  // namespace simmesh
