#include "core/ops/elementwise/elementary.h"

#include <numbers>

#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/gradients/slopes.h"
#include "core/ops/elementwise/backward.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/gradient_call.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

using std::numbers::ln10, std::numbers::ln2;
constexpr double erf_slope = 2 * std::numbers::inv_sqrtpi;

Gradients log_gradient(const GradientCall& call) { return {call.gradient() / call.input(0)}; }

Gradients log1p_gradient(const GradientCall& call) {
  return {call.gradient() / (call.input(0) + 1)};
}

Gradients log2_gradient(const GradientCall& call) {
  return {call.gradient() / (call.input(0) * ln2)};
}

Gradients log10_gradient(const GradientCall& call) {
  return {call.gradient() / (call.input(0) * ln10)};
}

Gradients sqrt_gradient(const GradientCall& call) {
  return {call.gradient() / (call.output() * 2)};
}

Tensor exp_slope(const Tensor& y) { return y; }
Tensor exp2_slope(const Tensor& y) { return y * ln2; }
Tensor expm1_slope(const Tensor& y) { return y + 1; }
Tensor rsqrt_slope(const Tensor& y) { return y * y * y * -0.5; }
Tensor slope_of_erf(const Tensor& x) { return exp(neg(x * x)) * erf_slope; }
Tensor slope_of_erfc(const Tensor& x) { return exp(neg(x * x)) * -erf_slope; }

Gradients sigmoid_gradient(const GradientCall& call) {
  return {to(sigmoid_backward(call.gradient(), call.output()), call.input_type(0).dtype)};
}

Gradients logaddexp_gradient(const GradientCall& call) {
  Gradients result(2);
  Tensor g = call.gradient();
  Tensor lead = call.input(0) - call.input(1);
  if (call.needs(0)) result[0] = summed_to_input(call, 0, g * sigmoid(lead));
  if (call.needs(1)) result[1] = summed_to_input(call, 1, g * sigmoid(neg(lead)));
  return result;
}

Gradients xlogy_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  const Tensor &x = call.input(0), &y = call.input(1);
  if (call.needs(0)) {
    Tensor is_flat = logical_and(eq(x, 0), le(y, 0));
    result[0] = summed_to_input(call, 0, g * masked_fill(log(y), is_flat, 0));
  }
  if (call.needs(1)) result[1] = summed_to_input(call, 1, g * x / y);
  return result;
}

// Rounding has gradient zero.
Gradients rounding_gradient(const GradientCall& call) { return {zeros_like(call.gradient())}; }

}  // namespace

void elementary_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"exp", slope_of_output(exp_slope)},
      {"exp2", slope_of_output(exp2_slope)},
      {"expm1", slope_of_output(expm1_slope)},
      {"log", {log_gradient, {.inputs = 1}}},
      {"log1p", {log1p_gradient, {.inputs = 1}}},
      {"log2", {log2_gradient, {.inputs = 1}}},
      {"log10", {log10_gradient, {.inputs = 1}}},
      {"logaddexp", {logaddexp_gradient, {.inputs = 0b11}}},
      {"xlogy", {xlogy_gradient, {.inputs = 0b11}}},
      {"sqrt", {sqrt_gradient, {.outputs = 1}}},
      {"rsqrt", slope_of_output(rsqrt_slope)},
      {"erf", slope_of_input(slope_of_erf)},
      {"erfc", slope_of_input(slope_of_erfc)},
      {"sigmoid", {sigmoid_gradient, {.outputs = 1}}},
      {"floor", {rounding_gradient}},
      {"ceil", {rounding_gradient}},
      {"round", {rounding_gradient}},
      {"trunc", {rounding_gradient}},
  };
  table.add(gradients);
}

}  // namespace simmesh
