#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/gradient_call.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

// The former elements of self get no gradient.
Gradients replaced_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  if (call.needs(0)) result[0] = zeros_like(g);
  if (call.needs(1)) result[1] = summed_to_input(call, 1, g);
  return result;
}

}  // namespace

void inplace_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"copy", {replaced_gradient}},
      {"fill", {replaced_gradient}},
  };
  table.add(gradients);
}

}  // namespace simmesh
