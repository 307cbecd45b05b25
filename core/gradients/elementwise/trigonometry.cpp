#include "core/ops/elementwise/trigonometry.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/gradients/slopes.h"
#include "core/ops/elementwise/backward.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

Tensor cos_slope(const Tensor& x) { return neg(sin(x)); }
Tensor tan_slope(const Tensor& y) { return y * y + 1; }
Tensor asin_slope(const Tensor& x) { return rsqrt(1 - x * x); }
Tensor acos_slope(const Tensor& x) { return neg(asin_slope(x)); }
Tensor atan_slope(const Tensor& x) { return reciprocal(x * x + 1); }
Tensor asinh_slope(const Tensor& x) { return rsqrt(x * x + 1); }
Tensor acosh_slope(const Tensor& x) { return rsqrt(x * x - 1); }
Tensor atanh_slope(const Tensor& x) { return reciprocal(1 - x * x); }

Gradients tanh_gradient(const GradientCall& call) {
  return {to(tanh_backward(call.gradient(), call.output()), call.input_type(0).dtype)};
}

Gradients atan2_gradient(const GradientCall& call) {
  Gradients result(2);
  const Tensor &y = call.input(0), &x = call.input(1);
  Tensor g = call.gradient() * reciprocal(x * x + y * y);
  if (call.needs(0)) result[0] = summed_to_input(call, 0, g * x);
  if (call.needs(1)) result[1] = summed_to_input(call, 1, neg(g * y));
  return result;
}

Gradients hypot_gradient(const GradientCall& call) {
  Gradients result(2);
  Tensor g = call.gradient() / call.output();
  for (std::size_t i = 0; i < 2; ++i)
    if (call.needs(i)) result[i] = summed_to_input(call, i, g * call.input(i));
  return result;
}

}  // namespace

void trigonometry_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"sin", slope_of_input(cos)},
      {"cos", slope_of_input(cos_slope)},
      {"tan", slope_of_output(tan_slope)},
      {"asin", slope_of_input(asin_slope)},
      {"acos", slope_of_input(acos_slope)},
      {"atan", slope_of_input(atan_slope)},
      {"sinh", slope_of_input(cosh)},
      {"cosh", slope_of_input(sinh)},
      {"tanh", {tanh_gradient, {.outputs = 1}}},
      {"asinh", slope_of_input(asinh_slope)},
      {"acosh", slope_of_input(acosh_slope)},
      {"atanh", slope_of_input(atanh_slope)},
      {"atan2", {atan2_gradient, {.inputs = 0b11}}},
      {"hypot", {hypot_gradient, {.inputs = 0b11, .outputs = 1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
