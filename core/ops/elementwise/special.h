#pragma once

#include <optional>

#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// Elementwise functions that are made of several simpler ones. As one op each, they redistribute a
// distributed operand once. Those that return fractions take integers as float32.

// frac is x - trunc(x); signbit is true for negative numbers and -0; heaviside is 0, `at_zero` or 1
// for numbers below, at and above zero.
Tensor frac(const Tensor& x);
Tensor signbit(const Tensor& x);
Tensor heaviside(const Tensor& x, const Tensor& at_zero);
// isposinf and isneginf are true for that infinity.
Tensor isposinf(const Tensor& x);
Tensor isneginf(const Tensor& x);

// deg2rad and rad2deg convert angles.
Tensor deg2rad(const Tensor& x);
Tensor rad2deg(const Tensor& x);
// angle is the angle of a real number: pi below 0, and 0 elsewhere. Its gradient is 0.
Tensor angle(const Tensor& x);
// sinc is sin(pi x) / (pi x), and 1 at 0.
Tensor sinc(const Tensor& x);
// entr is -x log(x), 0 at 0, and -inf below.
Tensor entr(const Tensor& x);
// logit is log(x / (1 - x)) of x clamped to [eps, 1 - eps], or of x itself without eps.
Tensor logit(const Tensor& x, std::optional<double> eps = {});
// erfinv is the inverse of erf: infinite at -1 and 1, NaN outside of them.
Tensor erfinv(const Tensor& x);
// i0 is the modified Bessel function of the first kind of order 0.
Tensor i0(const Tensor& x);

// hardshrink is x, but 0 within [-lambda, lambda]; softshrink moves the rest towards 0 by lambda.
Tensor hardshrink(const Tensor& x, double lambda = 0.5);
Tensor softshrink(const Tensor& x, double lambda = 0.5);
// celu is x above 0, and alpha * (exp(x / alpha) - 1) below.
Tensor celu(const Tensor& x, double alpha = 1.0);
// prelu_kernel is x above 0, and weight * x below; operands are broadcast.
Tensor prelu_kernel(const Tensor& x, const Tensor& weight);

// gcd and lcm of integers; others raise a NotImplementedError.
Tensor gcd(const Tensor& a, const Tensor& b);
Tensor lcm(const Tensor& a, const Tensor& b);

// The argument of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Number> lambda{"lambda"};
}  // namespace attribute

}  // namespace simmesh
