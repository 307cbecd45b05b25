#include "core/ops/elementwise/special.h"

#include <numbers>

#include "core/gradients/aligned_operands.h"
#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/gradients/slopes.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/elementwise/trigonometry.h"
#include "core/ops/gradient_call.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

using std::numbers::pi;

Gradients frac_gradient(const GradientCall& call) { return {call.gradient()}; }
Gradients deg2rad_gradient(const GradientCall& call) { return {call.gradient() * (pi / 180)}; }
Gradients rad2deg_gradient(const GradientCall& call) { return {call.gradient() * (180 / pi)}; }

Gradients angle_gradient(const GradientCall& call) { return {zeros_like(call.gradient())}; }

// The slope at 0 is 0.
Tensor sinc_slope(const Tensor& x) {
  Tensor angle = x * pi;
  Tensor slope = (angle * cos(angle) - sin(angle)) / (angle * x);
  return where(eq(x, 0), 0, slope);
}

Tensor entr_slope(const Tensor& x) { return neg(log(x)) - 1; }

Tensor erfinv_slope(const Tensor& y) { return exp(y * y) * (1 / (2 * std::numbers::inv_sqrtpi)); }

// Outside of [eps, 1 - eps] the result is constant.
Gradients logit_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  double eps = call.attributes().get(attribute::min).as<double>();
  Tensor slope = call.gradient() / (x * (1 - x));
  if (eps < 0) return {slope};
  return {where(logical_and(ge(x, eps), le(x, 1 - eps)), slope, 0)};
}

Gradients shrink_gradient(const GradientCall& call) {
  double lambda = call.attributes().get(attribute::lambda).as<double>();
  const Tensor& x = call.input(0);
  return {where(logical_and(ge(x, -lambda), le(x, lambda)), 0, call.gradient())};
}

Gradients celu_gradient(const GradientCall& call) {
  std::vector<Tensor> operands = aligned_operands({call.gradient(), call.input(0)}, "elementwise");
  const Tensor &g = operands[0], &x = operands[1];
  double alpha = call.attributes().get(attribute::alpha).as<double>();
  return {where(gt(x, 0), g, g * exp(clamp_max(x, 0.0) / alpha))};
}

Gradients prelu_gradient(const GradientCall& call) {
  Gradients result(2);
  const Tensor &x = call.input(0), &weight = call.input(1);
  Tensor g = call.gradient();
  if (call.needs(0)) result[0] = summed_to_input(call, 0, where(gt(x, 0), g, weight * g));
  if (call.needs(1)) result[1] = summed_to_input(call, 1, where(gt(x, 0), 0, x * g));
  return result;
}

}  // namespace

void special_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"frac", {frac_gradient}},
      {"heaviside", {}},  // PyTorch has none
      {"deg2rad", {deg2rad_gradient}},
      {"rad2deg", {rad2deg_gradient}},
      {"angle", {angle_gradient}},
      {"sinc", slope_of_input(sinc_slope)},
      {"special_entr", slope_of_input(entr_slope)},
      {"logit", {logit_gradient, {.inputs = 1}}},
      {"erfinv", slope_of_output(erfinv_slope)},
      {"i0", {}},  // the Bessel function of order 1
      {"hardshrink", {shrink_gradient, {.inputs = 1}}},
      {"softshrink", {shrink_gradient, {.inputs = 1}}},
      {"celu", {celu_gradient, {.inputs = 1}}},
      {"_prelu_kernel", {prelu_gradient, {.inputs = 0b11}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
