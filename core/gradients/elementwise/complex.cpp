#include "core/ops/elementwise/complex.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Gradients complex_mul_gradient(const GradientCall& call) {
  Gradients gradients(2);
  Tensor g = call.gradient();
  for (std::size_t i = 0; i < 2; ++i)
    if (call.needs(i))
      gradients[i] = summed_to_input(call, i, complex_mul(g, complex_conj(call.input(1 - i))));
  return gradients;
}

Gradients complex_conj_gradient(const GradientCall& call) {
  return {complex_conj(call.gradient())};
}

Gradients complex_abs_gradient(const GradientCall& call) {
  const Tensor& z = call.input(0);
  const Tensor& size = call.output();
  Tensor divisor = add(size, to(eq(size, 0), size.dtype()));
  return {mul(z, unsqueeze(div(call.gradient(), divisor), -1))};
}

}  // namespace

void complex_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"complex_mul", {complex_mul_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"complex_conj", {complex_conj_gradient}},
      {"complex_abs", {complex_abs_gradient, {.inputs = 0b1, .outputs = 0b1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
