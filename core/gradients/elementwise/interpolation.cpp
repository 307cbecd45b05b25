#include "core/ops/elementwise/interpolation.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/number.h"

namespace simmesh {

namespace {

// Returns x * n, where n usually is 1.
Tensor weighted(const Tensor& x, Number n) { return n.as<double>() == 1 ? x : mul(x, n); }

Gradients lerp_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  bool is_tensor = call.has_input(2);
  if (call.needs(0)) {
    Tensor part = is_tensor ? g * (1 - call.input(2))
                            : g * (1 - call.attributes().get_or(attribute::weight, 1).as<double>());
    result[0] = summed_to_input(call, 0, part);
  }
  if (call.needs(1)) {
    Tensor part =
        is_tensor ? g * call.input(2) : g * call.attributes().get_or(attribute::weight, 1);
    result[1] = summed_to_input(call, 1, part);
  }
  if (call.needs(2)) result[2] = summed_to_input(call, 2, g * (call.input(1) - call.input(0)));
  return result;
}

Gradients addcmul_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  Number value = call.attributes().get_or(attribute::value, 1);
  if (call.needs(0)) result[0] = summed_to_input(call, 0, g);
  if (call.needs(1)) result[1] = summed_to_input(call, 1, weighted(g * call.input(2), value));
  if (call.needs(2)) result[2] = summed_to_input(call, 2, weighted(g * call.input(1), value));
  return result;
}

Gradients addcdiv_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  Number value = call.attributes().get_or(attribute::value, 1);
  if (call.needs(0)) result[0] = summed_to_input(call, 0, g);
  if (call.needs(1)) result[1] = summed_to_input(call, 1, weighted(g / call.input(2), value));
  if (call.needs(2)) {
    const Tensor& b = call.input(2);
    result[2] = summed_to_input(call, 2, neg(weighted(g * (call.input(1) / (b * b)), value)));
  }
  return result;
}

}  // namespace

void interpolation_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"lerp", {lerp_gradient, {.inputs = 0b111, .for_others = 0b011}}},
      {"addcmul", {addcmul_gradient, {.inputs = 0b110, .crosswise = true}}},
      {"addcdiv", {addcdiv_gradient, {.inputs = 0b110}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
