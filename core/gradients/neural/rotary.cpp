#include "core/ops/neural/rotary.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

Gradients rotary_gradient(const GradientCall& call) {
  Gradients gradients(call.input_count());
  Tensor positions = call.has_input(1) ? call.input(1) : Tensor();
  gradients[0] = rotary_embedding_backward(call.gradient(), positions, call.attributes());
  return gradients;
}

}  // namespace

void rotary_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {{"rotary_embedding", {rotary_gradient, {.inputs = 0b10}}}};
  table.add(gradients);
}

}  // namespace simmesh
