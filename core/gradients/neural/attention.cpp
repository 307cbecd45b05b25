#include "core/ops/neural/attention.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

Gradients flash_attention_gradient(const GradientCall& call) {
  auto [q, k, v] =
      flash_attention_backward(call.input(0), call.input(1), call.input(2), call.gradient(),
                               {.is_causal = call.attributes().get(attribute::is_causal),
                                .scale = call.attributes().get(attribute::scale)});
  return {q, k, v};
}

}  // namespace

void attention_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      // A device's kernel reads the output again, so it is saved; ours would not need it.
      {"flash_attention", {flash_attention_gradient, {.inputs = 0b111, .outputs = 1}}},
      {"scaled_dot_product_attention", {}},  // not called where anything is differentiated
      {"flash_attention_backward", {}},      // second derivatives of a fused kernel
  };
  table.add(gradients);
}

}  // namespace simmesh
