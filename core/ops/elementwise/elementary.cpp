#include "core/ops/elementwise/elementary.h"

#include <cmath>
#include <numbers>

#include "core/ops/call.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/function_op.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

using std::numbers::ln2;

const Op exp_op =
    function_op({Function::exp, slope_by_output([](const Tensor& y) { return y; }), saves_output});
const Op expm1_op = function_op(
    {Function::expm1, slope_by_output([](const Tensor& y) { return y + 1; }), saves_output});
const Op log_op = function_op(
    {Function::log,
     [](const GradientCall& call) -> Gradients { return {call.gradient() / call.input(0)}; },
     saves_input});
const Op log1p_op = function_op(
    {Function::log1p,
     [](const GradientCall& call) -> Gradients { return {call.gradient() / (call.input(0) + 1)}; },
     saves_input});
const Op log2_op = function_op({Function::log2,
                                [](const GradientCall& call) -> Gradients {
                                  return {call.gradient() / (call.input(0) * ln2)};
                                },
                                saves_input});
const Op sigmoid_op =
    function_op({Function::sigmoid, slope_by_output([](const Tensor& y) { return (1 - y) * y; }),
                 saves_output});
const Op erf_op = function_op({Function::erf, slope_by_input([](const Tensor& x) {
                                 return exp(neg(x * x)) * (2 * std::numbers::inv_sqrtpi);
                               }),
                               saves_input});
const Op log10_op = function_op({Function::log10,
                                 [](const GradientCall& call) -> Gradients {
                                   return {call.gradient() / (call.input(0) * std::numbers::ln10)};
                                 },
                                 saves_input});
const Op erfc_op = function_op({Function::erfc, slope_by_input([](const Tensor& x) {
                                  return exp(neg(x * x)) * (-2 * std::numbers::inv_sqrtpi);
                                }),
                                saves_input});
const Op sqrt_op = function_op(
    {Function::sqrt,
     [](const GradientCall& call) -> Gradients { return {call.gradient() / (call.output() * 2)}; },
     saves_output});
const Op rsqrt_op =
    function_op({Function::rsqrt, slope_by_output([](const Tensor& y) { return y * y * y * -0.5; }),
                 saves_output});

const Op exp2_op =
    made_op({"exp2", double_loops<1>([](double x) { return power(2.0, x); }),
             slope_by_output([](const Tensor& y) { return y * ln2; }), saves_output});
double logaddexp_of(double a, double b) {
  if (a == b && std::isinf(a)) return a;
  double larger = a > b ? a : b;
  double distance = -std::fabs(a - b);
  return larger + apply_function(Function::log1p, apply_function(Function::exp, distance));
}

const Op logaddexp_op =
    pointwise_op({.name = "logaddexp",
                  .slots = {{"self"}, {"other"}},
                  .result = PointwiseResult::floating,
                  .in_double = true,
                  .loops = double_loops<2>(logaddexp_of),
                  .gradient =
                      [](const GradientCall& call) {
                        Gradients result(2);
                        Tensor g = call.gradient();
                        Tensor lead = call.input(0) - call.input(1);
                        if (call.needs(0)) result[0] = summed_to_input(call, 0, g * sigmoid(lead));
                        if (call.needs(1))
                          result[1] = summed_to_input(call, 1, g * sigmoid(neg(lead)));
                        return result;
                      },
                  .saves = {.inputs = 0b11}});

double xlogy_of(double x, double y) {
  return x == 0 && y == y ? 0 : x * apply_function(Function::log, y);
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

const Op xlogy_op = pointwise_op({.name = "xlogy",
                                  .slots = {{"self"}, {"other"}},
                                  .result = PointwiseResult::floating,
                                  .in_double = true,
                                  .loops = double_loops<2>(xlogy_of),
                                  .gradient = xlogy_gradient,
                                  .saves = {.inputs = 0b11}});

// Rounding is flat.
template <class F>
Op rounding_op(const std::string& name, F f) {
  return pointwise_op({.name = name,
                       .loops = loops<1>([f](auto x) {
                         if constexpr (std::is_integral_v<decltype(x)>)
                           return x;
                         else
                           return f(x);
                       }),
                       .gradient = [](const GradientCall& call) -> Gradients {
                         return {zeros_like(call.gradient())};
                       }});
}
const Op floor_op = rounding_op("floor", [](auto x) { return std::floor(x); });
const Op ceil_op = rounding_op("ceil", [](auto x) { return std::ceil(x); });
const Op round_op = rounding_op("round", [](auto x) { return std::rint(x); });
const Op trunc_op = rounding_op("trunc", [](auto x) { return std::trunc(x); });

}  // namespace

Tensor exp(const Tensor& x) { return call_one(exp_op, {x}); }
Tensor exp2(const Tensor& x) { return call_one(exp2_op, {x}); }
Tensor expm1(const Tensor& x) { return call_one(expm1_op, {x}); }
Tensor log(const Tensor& x) { return call_one(log_op, {x}); }
Tensor log1p(const Tensor& x) { return call_one(log1p_op, {x}); }
Tensor log2(const Tensor& x) { return call_one(log2_op, {x}); }
Tensor log10(const Tensor& x) { return call_one(log10_op, {x}); }
Tensor xlogy(const Tensor& x, const Tensor& y) { return call_one(xlogy_op, {x, y}); }
Tensor logaddexp(const Tensor& a, const Tensor& b) { return call_one(logaddexp_op, {a, b}); }
Tensor sqrt(const Tensor& x) { return call_one(sqrt_op, {x}); }
Tensor rsqrt(const Tensor& x) { return call_one(rsqrt_op, {x}); }
Tensor erf(const Tensor& x) { return call_one(erf_op, {x}); }
Tensor erfc(const Tensor& x) { return call_one(erfc_op, {x}); }
Tensor sigmoid(const Tensor& x) { return call_one(sigmoid_op, {x}); }
Tensor floor(const Tensor& x) { return call_one(floor_op, {x}); }
Tensor ceil(const Tensor& x) { return call_one(ceil_op, {x}); }
Tensor round(const Tensor& x) { return call_one(round_op, {x}); }
Tensor trunc(const Tensor& x) { return call_one(trunc_op, {x}); }

gsl::span<const Op* const> elementary_ops() {
  static const Op* const ops[] = {&exp_op,   &exp2_op,    &expm1_op,    &log_op,  &log1p_op,
                                  &log2_op,  &log10_op,   &xlogy_op,    &sqrt_op, &rsqrt_op,
                                  &erf_op,   &erfc_op,    &floor_op,    &ceil_op, &round_op,
                                  &trunc_op, &sigmoid_op, &logaddexp_op};
  return ops;
}

}  // namespace simmesh
