#include "core/ops/elementwise/activations.h"

#include "core/gradients/aligned_operands.h"
#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/backward.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/elementwise/trigonometry.h"
#include "core/ops/gradient_call.h"
#include "core/ops/number.h"

namespace simmesh {

namespace {

constexpr Saves input_only{.inputs = 1};

double number_of(const GradientCall& call, const Attribute<Number>& which) {
  return call.attributes().get(which).as<double>();
}

// Operands are the gradient of the result and the input, in one layout where PyTorch computes the
// gradient by one operator whose layouts it derives.
struct ActivationOperands {
  Tensor gradient;
  Tensor x;
};
ActivationOperands activation_operands(const GradientCall& call, const char* of = "elementwise") {
  std::vector<Tensor> operands = aligned_operands({call.gradient(), call.input(0)}, of);
  return {operands[0], operands[1]};
}

Gradients relu_gradient(const GradientCall& call) {
  return {threshold_backward(call.gradient(), call.output(), 0)};
}

Gradients hardtanh_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  Tensor inside = logical_and(gt(x, number_of(call, attribute::min_val)),
                              lt(x, number_of(call, attribute::max_val)));
  return {where(inside, call.gradient(), 0)};
}

Gradients leaky_relu_gradient(const GradientCall& call) {
  auto [g, x] = activation_operands(call);
  return {where(gt(x, 0), g, g * number_of(call, attribute::negative_slope))};
}

Gradients threshold_gradient(const GradientCall& call) {
  return {threshold_backward(call.gradient(), call.input(0),
                             *call.attributes().number_in(attribute::threshold))};
}

Gradients silu_gradient(const GradientCall& call) {
  return {silu_backward(call.gradient(), call.input(0))};
}

Gradients gelu_gradient(const GradientCall& call) {
  bool is_tanh = call.attributes().get(attribute::approximate) == "tanh";
  return {gelu_backward(call.gradient(), call.input(0), is_tanh ? Gelu::tanh : Gelu::none)};
}

Gradients softplus_gradient(const GradientCall& call) {
  auto [g, x] = activation_operands(call);
  Tensor scaled = x * number_of(call, attribute::beta);
  return {where(gt(scaled, number_of(call, attribute::threshold)), g, g * sigmoid(scaled))};
}

Gradients logsigmoid_gradient(const GradientCall& call) {
  return {call.gradient() * sigmoid(neg(call.input(0)))};
}

Gradients mish_gradient(const GradientCall& call) {
  auto [g, x] = activation_operands(call, "factor");
  Tensor t = tanh(softplus(x));
  return {g * (t + x * sigmoid(x) * (1 - t * t))};
}

Gradients elu_gradient(const GradientCall& call) {
  auto [g, x] = activation_operands(call);
  Tensor below = exp(clamp_max(x, 0.0)) * number_of(call, attribute::alpha);
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

void activations_gradients(GradientTable& table) {
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
  table.add(gradients);
}

}  // namespace simmesh
