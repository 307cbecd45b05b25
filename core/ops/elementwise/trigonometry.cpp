#include "core/ops/elementwise/trigonometry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/ops/call.h"
#include "core/ops/elementwise/function_op.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh {

namespace {

const Op sin_op = function_op({Function::sin, slope_by_input(cos), saves_input});
const Op cos_op = function_op(
    {Function::cos, slope_by_input([](const Tensor& x) { return neg(sin(x)); }), saves_input});
const Op tan_op =
    made_op({"tan", double_loops<1>([](double x) {
               return apply_function(Function::sin, x) / apply_function(Function::cos, x);
             }),
             slope_by_output([](const Tensor& y) { return y * y + 1; }), saves_output});

Tensor root_below_one(const Tensor& x) { return rsqrt(1 - x * x); }

const Op asin_op = function_op({Function::asin, slope_by_input(root_below_one), saves_input});
const Op acos_op = function_op(
    {Function::acos, slope_by_input([](const Tensor& x) { return neg(root_below_one(x)); }),
     saves_input});
const Op atan_op = function_op(
    {Function::atan, slope_by_input([](const Tensor& x) { return reciprocal(x * x + 1); }),
     saves_input});
const Op sinh_op = function_op({Function::sinh, slope_by_input(cosh), saves_input});
const Op cosh_op = function_op({Function::cosh, slope_by_input(sinh), saves_input});
const Op tanh_op = function_op(
    {Function::tanh, slope_by_output([](const Tensor& y) { return 1 - y * y; }), saves_output});
const Op asinh_op =
    function_op({Function::asinh, slope_by_input([](const Tensor& x) { return rsqrt(x * x + 1); }),
                 saves_input});
const Op acosh_op =
    function_op({Function::acosh, slope_by_input([](const Tensor& x) { return rsqrt(x * x - 1); }),
                 saves_input});
const Op atanh_op = function_op(
    {Function::atanh, slope_by_input([](const Tensor& x) { return reciprocal(1 - x * x); }),
     saves_input});

// The angle of (x, y), from the lesser of the two over the larger.
double atan2_of(double y, double x) {
  constexpr double pi = std::numbers::pi, pi_rest = 0x1.1a62633145c07p-53;
  if (x != x || y != y) return x != x ? x : y;
  double across = std::fabs(x), up = std::fabs(y), angle = 0;
  if (across == up)
    angle = across == 0 ? 0 : pi / 4;
  else if (up <= across)
    angle = apply_function(Function::atan, up / across);
  else
    angle = (pi / 2 - apply_function(Function::atan, across / up)) + pi_rest / 2;
  if (std::signbit(x)) angle = (pi - angle) + pi_rest;
  return std::copysign(angle, y);
}

// Scaled by a power of two where the squares could leave the range of double.
double hypot_of(double a, double b) {
  double larger = std::fabs(a), lesser = std::fabs(b);
  if (std::isinf(larger) || std::isinf(lesser)) return std::numeric_limits<double>::infinity();
  if (larger < lesser) std::swap(larger, lesser);
  double scale = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-500 ? 0x1p600 : 1;
  double x = larger * scale, y = lesser * scale;
  return std::sqrt(x * x + y * y) / scale;
}

Op pair_op(std::string name, double (*f)(double, double), GradientRule gradient, Saves saves) {
  return pointwise_op({.name = std::move(name),
                       .slots = {{"self"}, {"other"}},
                       .result = PointwiseResult::floating,
                       .in_double = true,
                       .loops = double_loops<2>(f),
                       .gradient = std::move(gradient),
                       .saves = saves});
}

const Op atan2_op = pair_op("atan2", atan2_of,
                            [](const GradientCall& call) {
                              Gradients result(2);
                              const Tensor &y = call.input(0), &x = call.input(1);
                              Tensor g = call.gradient() * reciprocal(x * x + y * y);
                              if (call.needs(0)) result[0] = summed_to_input(call, 0, g * x);
                              if (call.needs(1)) result[1] = summed_to_input(call, 1, neg(g * y));
                              return result;
                            },
                            {.inputs = 0b11});

const Op hypot_op = pair_op("hypot", hypot_of,
                            [](const GradientCall& call) {
                              Gradients result(2);
                              Tensor g = call.gradient() / call.output();
                              for (std::size_t i = 0; i < 2; ++i)
                                if (call.needs(i))
                                  result[i] = summed_to_input(call, i, g * call.input(i));
                              return result;
                            },
                            {.inputs = 0b11, .outputs = 1});

}  // namespace

Tensor sin(const Tensor& x) { return call_one(sin_op, {x}); }
Tensor cos(const Tensor& x) { return call_one(cos_op, {x}); }
Tensor tan(const Tensor& x) { return call_one(tan_op, {x}); }
Tensor asin(const Tensor& x) { return call_one(asin_op, {x}); }
Tensor acos(const Tensor& x) { return call_one(acos_op, {x}); }
Tensor atan(const Tensor& x) { return call_one(atan_op, {x}); }
Tensor sinh(const Tensor& x) { return call_one(sinh_op, {x}); }
Tensor cosh(const Tensor& x) { return call_one(cosh_op, {x}); }
Tensor tanh(const Tensor& x) { return call_one(tanh_op, {x}); }
Tensor asinh(const Tensor& x) { return call_one(asinh_op, {x}); }
Tensor acosh(const Tensor& x) { return call_one(acosh_op, {x}); }
Tensor atanh(const Tensor& x) { return call_one(atanh_op, {x}); }
Tensor atan2(const Tensor& y, const Tensor& x) { return call_one(atan2_op, {y, x}); }
Tensor hypot(const Tensor& a, const Tensor& b) { return call_one(hypot_op, {a, b}); }

gsl::span<const Op* const> trigonometry_ops() {
  static const Op* const ops[] = {&sin_op,   &cos_op,   &tan_op,   &asin_op, &acos_op,
                                  &atan_op,  &atan2_op, &sinh_op,  &cosh_op, &tanh_op,
                                  &asinh_op, &acosh_op, &atanh_op, &hypot_op};
  return ops;
}

}  // namespace simmesh
