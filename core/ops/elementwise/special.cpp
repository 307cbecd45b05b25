#include "core/ops/elementwise/special.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/kernels/function_op.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

constexpr double endless = std::numeric_limits<double>::infinity();
constexpr double undefined_number = std::numeric_limits<double>::quiet_NaN();

double ln(double x) { return apply_function(Function::log, x); }

Op of_numbers(std::string name, std::vector<PointwiseSlot> slots, ChunkLoops loops) {
  return pointwise_op({.name = std::move(name),
                       .slots = std::move(slots),
                       .result = PointwiseResult::floating,
                       .in_double = true,
                       .loops = std::move(loops)});
}

const Op frac_op = pointwise_op({.name = "frac", .loops = loops<1>([](auto x) {
                                                   if constexpr (std::is_integral_v<decltype(x)>)
                                                     return x - x;
                                                   else
                                                     return x - std::trunc(x);
                                                 })});

const Op signbit_op = pointwise_op({.name = "signbit",
                                    .result = PointwiseResult::boolean,
                                    .loops = loops<1>([](auto x) {
                                      if constexpr (std::is_integral_v<decltype(x)>)
                                        return x < 0;
                                      else
                                        return std::signbit(x);
                                    })});

const Op heaviside_op = pointwise_op({.name = "heaviside",
                                      .slots = {{attribute::self}, {attribute::other}},
                                      .loops = loops<2>([](auto x, auto at_zero) {
                                        using C = decltype(x);
                                        if (x == C(0)) return at_zero;
                                        return C(x > C(0) ? 1 : 0);
                                      })});

Op infinity_op(const std::string& name, double infinity) {
  return pointwise_op({.name = name,
                       .result = PointwiseResult::boolean,
                       .loops = loops<1>([infinity](auto x) { return double(x) == infinity; })});
}
const Op isposinf_op = infinity_op("isposinf", endless);
const Op isneginf_op = infinity_op("isneginf", -endless);

const Op deg2rad_op =
    made_op("deg2rad", double_loops<1>([](double x) { return x * (std::numbers::pi / 180); }));
const Op rad2deg_op =
    made_op("rad2deg", double_loops<1>([](double x) { return x * (180 / std::numbers::pi); }));

double sinc_of(double x) {
  if (x == 0) return 1;
  double angle = std::numbers::pi * x;
  return apply_function(Function::sin, angle) / angle;
}
const Op angle_op = made_op("angle", double_loops<1>([](double x) {
                              return x != x ? x : x < 0 ? std::numbers::pi : 0.0;
                            }));

const Op sinc_op = made_op("sinc", double_loops<1>(sinc_of));

double entr_of(double x) {
  if (x != x) return x;
  if (x > 0) return -x * ln(x);
  return x == 0 ? 0 : -endless;
}
const Op entr_op = made_op("special_entr", double_loops<1>(entr_of));

// An eps below zero stands for none.
double logit_of(double x, double eps) {
  if (eps >= 0) x = x < eps ? eps : x > 1 - eps ? 1 - eps : x;
  return ln(x / (1 - x));
}
const Op logit_op =
    of_numbers("logit", {{attribute::self}, {attribute::min, false}}, double_loops<2>(logit_of));

// Returns a first guess, off by at most 6e-3: Winitzki's formula.
double erfinv_near(double x) {
  constexpr double a = 0.147;
  double part = ln((1 - x) * (1 + x));
  double half = 2 / (std::numbers::pi * a) + part / 2;
  return std::copysign(std::sqrt(std::sqrt(half * half - part / a) - half), x);
}

// Returns erf(y) - x. Near 1 the complement keeps the digits.
double excess(double x, double y) {
  if (x > 0.5) return (1 - x) - apply_function(Function::erfc, y);
  if (x < -0.5) return apply_function(Function::erfc, -y) - (1 + x);
  return apply_function(Function::erf, y) - x;
}

// Three steps of Halley's method make the guess exact to the last bits.
double erfinv_of(double x) {
  if (x != x || x < -1 || x > 1) return undefined_number;
  if (x == 1 || x == -1) return x * endless;
  if (x == 0) return x;
  double y = erfinv_near(x);
  for (int step = 0; step < 3; ++step) {
    double beyond = excess(x, y);
    double slope = 2 * std::numbers::inv_sqrtpi * apply_function(Function::exp, -y * y);
    double newton = beyond / slope;
    y -= newton / (1 + y * newton);
  }
  return y;
}
const Op erfinv_op = made_op("erfinv", double_loops<1>(erfinv_of));

// Adds the power series while its terms count; all of them are positive.
double i0_of(double x) {
  if (x != x) return x;
  double size = std::fabs(x);
  if (size > 713) return endless;
  double quarter = size * size / 4, term = 1, sum = 1;
  for (double k = 1; term > sum * 1e-17; ++k) {
    term *= quarter / (k * k);
    sum += term;
  }
  return sum;
}
const Op i0_op = made_op("i0", double_loops<1>(i0_of));

const Op hardshrink_op = pointwise_op({.name = "hardshrink",
                                       .slots = {{attribute::self}, {attribute::lambda, false}},
                                       .loops = floating_loops<2>([](auto x, auto lambda) {
                                         return x >= -lambda && x <= lambda ? decltype(x)(0) : x;
                                       })});

const Op softshrink_op = pointwise_op({.name = "softshrink",
                                       .slots = {{attribute::self}, {attribute::lambda, false}},
                                       .loops = floating_loops<2>([](auto x, auto lambda) {
                                         if (x > lambda) return x - lambda;
                                         if (x < -lambda) return x + lambda;
                                         return x != x ? x : decltype(x)(0);
                                       })});

const Op celu_op = of_numbers("celu", {{attribute::self}, {attribute::alpha, false}},
                              double_loops<2>([](double x, double alpha) {
                                double below = apply_function(Function::expm1, x / alpha);
                                return x > 0 ? x : alpha * below;
                              }));

const Op prelu_op = pointwise_op(
    {.name = "_prelu_kernel",
     .slots = {{attribute::self}, {attribute::other}},
     .loops = floating_loops<2>([](auto x, auto weight) { return x > 0 ? x : weight * x; })});

const Op gcd_op = integer_op("gcd", [](std::int64_t a, std::int64_t b) { return std::gcd(a, b); });
const Op lcm_op = integer_op("lcm", [](std::int64_t a, std::int64_t b) {
  std::int64_t common = std::gcd(a, b);
  if (common == 0) return common;
  std::int64_t product = times(a / common, b);
  return product < 0 ? minus(std::int64_t(0), product) : product;
});

}  // namespace

Tensor frac(const Tensor& x) { return call_one(frac_op, {x}); }
Tensor signbit(const Tensor& x) { return call_one(signbit_op, {x}); }
Tensor heaviside(const Tensor& x, const Tensor& at_zero) {
  if (x.dtype() != at_zero.dtype())
    raise(ErrorKind::runtime_error, "heaviside",
          "heaviside is not yet implemented for tensors with different dtypes, got {} and {}",
          to_string(x.dtype()), to_string(at_zero.dtype()));
  return call_one(heaviside_op, {x, at_zero});
}
Tensor isposinf(const Tensor& x) { return call_one(isposinf_op, {x}); }
Tensor isneginf(const Tensor& x) { return call_one(isneginf_op, {x}); }
Tensor deg2rad(const Tensor& x) { return call_one(deg2rad_op, {x}); }
Tensor rad2deg(const Tensor& x) { return call_one(rad2deg_op, {x}); }
Tensor angle(const Tensor& x) { return call_one(angle_op, {x}); }
Tensor sinc(const Tensor& x) { return call_one(sinc_op, {x}); }
Tensor entr(const Tensor& x) { return call_one(entr_op, {x}); }
Tensor logit(const Tensor& x, std::optional<double> eps) {
  return call_one(logit_op, {x}, {attribute::min = eps.value_or(-1)});
}
Tensor erfinv(const Tensor& x) { return call_one(erfinv_op, {x}); }
Tensor i0(const Tensor& x) { return call_one(i0_op, {x}); }
Tensor hardshrink(const Tensor& x, double lambda) {
  return call_one(hardshrink_op, {x}, {attribute::lambda = lambda});
}
Tensor softshrink(const Tensor& x, double lambda) {
  return call_one(softshrink_op, {x}, {attribute::lambda = lambda});
}
Tensor celu(const Tensor& x, double alpha) {
  return call_one(celu_op, {x}, {attribute::alpha = alpha});
}
Tensor prelu_kernel(const Tensor& x, const Tensor& weight) {
  return call_one(prelu_op, {x, weight});
}
Tensor gcd(const Tensor& a, const Tensor& b) { return call_one(gcd_op, {a, b}); }
Tensor lcm(const Tensor& a, const Tensor& b) { return call_one(lcm_op, {a, b}); }

void special_ops(OpList& ops) {
  ops.add({&frac_op, &signbit_op, &heaviside_op, &isposinf_op, &isneginf_op, &deg2rad_op,
           &rad2deg_op, &angle_op, &sinc_op, &entr_op, &logit_op, &erfinv_op, &i0_op,
           &hardshrink_op, &softshrink_op, &celu_op, &prelu_op, &gcd_op, &lcm_op});
}

}  // namespace simmesh
