#include "core/ops/elementwise/activations.h"

#include "core/gradients/families.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/gelu_constants.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/elementwise/trigonometry.h"
#include "core/ops/gradient_call.h"
#include "core/ops/number.h"

namespace simmesh {

namespace {

constexpr Saves input_only{.inputs = 1};

double number_of(const GradientCall& call, std::string_view name) {
  return number_in(call.attributes(), name)->as<double>();
}

Gradients relu_gradient(const GradientCall& call) {
  return {where(gt(call.output(), 0), call.gradient(), 0)};
}

Gradients hardtanh_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  Tensor inside = logical_and(gt(x, number_of(call, "min_val")), lt(x, number_of(call, "max_val")));
  return {where(inside, call.gradient(), 0)};
}

Gradients leaky_relu_gradient(const GradientCall& call) {
  Tensor g = call.gradient();
  return {where(gt(call.input(0), 0), g, g * number_of(call, "negative_slope"))};
}

Gradients threshold_gradient(const GradientCall& call) {
  Tensor below = le(call.input(0), number_of(call, "threshold"));
  return {masked_fill(call.gradient(), below, 0)};
}

Gradients silu_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  Tensor s = sigmoid(x);
  return {call.gradient() * (s * (1 + x * (1 - s)))};
}

Tensor gelu_derivative(const Tensor& x) {
  Tensor normal = (erf(x * sqrt_half) + 1) * 0.5;
  Tensor density = exp(x * x * -0.5) * (0.5 * gelu_slope);
  return normal + x * density;
}

Tensor gelu_tanh_derivative(const Tensor& x) {
  Tensor square = x * x;
  Tensor t = tanh((x + x * square * gelu_cubic) * gelu_slope);
  Tensor inner = (square * (3 * gelu_cubic) + 1) * gelu_slope;
  return (t + 1) * 0.5 + x * (1 - t * t) * inner * 0.5;
}

Gradients gelu_gradient(const GradientCall& call) {
  bool is_tanh = call.attributes().get<std::string>("approximate") == "tanh";
  const Tensor& x = call.input(0);
  return {call.gradient() * (is_tanh ? gelu_tanh_derivative(x) : gelu_derivative(x))};
}

Gradients softplus_gradient(const GradientCall& call) {
  Tensor scaled = call.input(0) * number_of(call, "beta");
  Tensor g = call.gradient();
  return {where(gt(scaled, number_of(call, "threshold")), g, g * sigmoid(scaled))};
}

Gradients logsigmoid_gradient(const GradientCall& call) {
  return {call.gradient() * sigmoid(neg(call.input(0)))};
}

Gradients mish_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  Tensor t = tanh(softplus(x));
  return {call.gradient() * (t + x * sigmoid(x) * (1 - t * t))};
}

Gradients elu_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  Tensor g = call.gradient();
  Tensor below = exp(clamp_max(x, 0.0)) * number_of(call, "alpha");
  return {where(gt(x, 0), g, g * below)};
}

Gradients hardsigmoid_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  Tensor inside = logical_and(gt(x, -3.0), lt(x, 3.0));
  return {where(inside, call.gradient() * (1.0 / 6), 0)};
}

Gradients hardswish_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  Tensor g = call.gradient();
  Tensor middle = where(le(x, 3.0), g * (x / 3.0 + 0.5), g);
  return {where(lt(x, -3.0), 0, middle)};
}

}  // namespace

gsl::span<const OpGradient> activation_gradients() {
  static const OpGradient gradients[] = {
      {"relu", {relu_gradient, {.outputs = 1}}},
      {"hardtanh", {hardtanh_gradient, input_only}},
      {"leaky_relu", {leaky_relu_gradient, input_only}},
      {"threshold", {threshold_gradient, input_only}},
      {"silu", {silu_gradient, input_only}},
      {"gelu", {gelu_gradient, input_only}},
      {"softplus", {softplus_gradient, input_only}},
      {"log_sigmoid_forward", {logsigmoid_gradient, input_only}},
      {"mish", {mish_gradient, input_only}},
      {"elu", {elu_gradient, input_only}},
      {"hardsigmoid", {hardsigmoid_gradient, input_only}},
      {"hardswish", {hardswish_gradient, input_only}},
  };
  return gradients;
}

}  // namespace simmesh
