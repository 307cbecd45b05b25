#pragma once

#include "core/ops/op.h"

namespace simmesh {

// Trigonometric and hyperbolic functions and their inverses, elementwise: floating results, float32
// for integers; computed in double and rounded once, with the same bits on every processor. Where a
// function isn't defined the result is NaN.
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor asinh(const Tensor& x);
Tensor acosh(const Tensor& x);
Tensor atanh(const Tensor& x);

// atan2 returns the angle of the point (x, y) in [-pi, pi], with the C library's signs of zeros and
// infinities; hypot the root of a^2 + b^2, also where a square would overflow. Operands are
// broadcast and promoted.
Tensor atan2(const Tensor& y, const Tensor& x);
Tensor hypot(const Tensor& a, const Tensor& b);

}  // namespace simmesh
