#include "core/ops/elementwise/pointwise.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/gradient_call.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/number.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

// Returns x * n, where n usually is 1.
Tensor scaled(const Tensor& x, Number n) { return n.as<double>() == 1 ? x : mul(x, n); }

// Returns g * input i, which is a tensor or a number.
Tensor times_input(const GradientCall& call, const Tensor& g, std::size_t i,
                   const Attribute<Number>& which) {
  return call.has_input(i) ? mul(g, call.input(i))
                           : scaled(g, call.attributes().get_or(which, Number(1)));
}

// Factors of the gradients of first_sign * self + second_sign * other, where the second may have a
// factor.
struct Signs {
  bool negates_self;
  bool negates_other;
  bool scales_self;
};
GradientRule signed_sum_gradient(Signs signs) {
  return [signs](const GradientCall& call) {
    Gradients result(call.input_count());
    Number alpha = call.attributes().get_or(attribute::alpha, 1);
    auto signed_part = [&](std::size_t i, bool negates, bool scales) {
      if (!call.needs(i)) return;
      Tensor g = scales ? scaled(call.gradient(), alpha) : call.gradient();
      result[i] = summed_to_input(call, i, negates ? neg(g) : g);
    };
    signed_part(0, signs.negates_self, signs.scales_self);
    signed_part(1, signs.negates_other, !signs.scales_self);
    return result;
  };
}

Gradients div_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  if (call.needs(0))
    result[0] =
        summed_to_input(call, 0,
                        call.has_input(1) ? div(g, call.input(1))
                                          : div(g, call.attributes().get_or(attribute::other, 1)));
  if (call.needs(1)) {
    const Tensor& other = call.input(1);
    Tensor quotient = div(div(call.input(0), other), other);
    result[1] = summed_to_input(call, 1, neg(g) * quotient);
  }
  return result;
}

// A quotient that is rounded to an integer has gradient zero.
Gradients rounded_div_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  for (std::size_t i = 0; i < result.size(); ++i)
    if (call.needs(i)) result[i] = new_zeros(call.gradient(), call.input_type(i).shape);
  return result;
}

// Returns the gradient of a - b * quotient, whose quotient is constant almost everywhere.
GradientRule modulo_gradient(RoundingMode rounding) {
  return [rounding](const GradientCall& call) {
    Gradients result(call.input_count());
    Tensor g = call.gradient();
    if (call.needs(0)) result[0] = summed_to_input(call, 0, g);
    if (call.needs(1)) {
      Tensor quotient = div(call.input(0), call.input(1), rounding);
      result[1] = summed_to_input(call, 1, neg(g) * quotient);
    }
    return result;
  };
}

// Returns the slope of a power in its exponent. 0^e has slope zero from e = 0 on.
Tensor exponent_slope(const GradientCall& call) {
  const Tensor& e = call.input(1);
  const Tensor& y = call.output();
  if (call.has_input(0)) {
    const Tensor& x = call.input(0);
    Tensor is_flat = ge(e, 0);
    is_flat = logical_and(eq(x, 0), is_flat);
    return where(is_flat, 0, y * log(x));
  }
  Number base = call.attributes().get_or(attribute::self, 1);
  Tensor slope = y * log(full({}, e.dtype(), base.as<double>()));
  return base.as<double>() == 0 ? where(ge(e, 0), 0, slope) : slope;
}

Gradients pow_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  if (call.needs(1)) result[1] = summed_to_input(call, 1, g * exponent_slope(call));
  if (!call.needs(0)) return result;
  const Tensor& x = call.input(0);
  if (call.has_input(1)) {
    const Tensor& e = call.input(1);
    Tensor slope = g * (e * pow(x, e - 1));
    result[0] = summed_to_input(call, 0, where(eq(e, 0), 0, slope));
  } else {
    auto e = call.attributes().get_or(attribute::exponent, 1).as<double>();
    result[0] = summed_to_input(call, 0, e == 0 ? zeros_like(g) : g * (pow(x, e - 1) * e));
  }
  return result;
}

Gradients mul_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  for (std::size_t i = 0; i < result.size(); ++i)
    if (call.needs(i))
      result[i] =
          summed_to_input(call, i, times_input(call, call.gradient(), 1 - i, attribute::other));
  return result;
}

Gradients neg_gradient(const GradientCall& call) { return {neg(call.gradient())}; }

Gradients abs_gradient(const GradientCall& call) { return {call.gradient() * sgn(call.input(0))}; }

Gradients sign_gradient(const GradientCall& call) { return {zeros_like(call.gradient())}; }

Gradients reciprocal_gradient(const GradientCall& call) {
  const Tensor& y = call.output();
  Tensor square = y * y;
  return {neg(call.gradient()) * square};
}

}  // namespace

void pointwise_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"add", {signed_sum_gradient({false, false, false})}},
      {"sub", {signed_sum_gradient({false, true, false})}},
      {"rsub", {signed_sum_gradient({true, false, true})}},
      {"mul", {mul_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"div", {div_gradient, {.inputs = 0b11, .for_others = 0b01}}},
      {"div.Tensor_mode", {rounded_div_gradient}},
      {"remainder", {modulo_gradient(RoundingMode::floor), {.inputs = 0b11, .for_others = 0b01}}},
      {"fmod", {modulo_gradient(RoundingMode::trunc), {.inputs = 0b11, .for_others = 0b01}}},
      // Only a power with a tensor as exponent needs its result again.
      {"pow", {pow_gradient, {.inputs = 1}}},
      {"pow.Tensor_Tensor", {pow_gradient, {.inputs = 0b11, .outputs = 1}}},
      {"neg", {neg_gradient}},
      {"abs", {abs_gradient, {.inputs = 1}}},
      {"sign", {sign_gradient}},
      {"sgn", {sign_gradient}},
      {"reciprocal", {reciprocal_gradient, {.outputs = 1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
