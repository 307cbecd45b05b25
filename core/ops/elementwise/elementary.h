#pragma once

#include "core/ops/op.h"

namespace simmesh {

// Elementary functions: floating results, float32 for integers; computed in double and rounded
// once, with the same bits on every processor.

// Exponentials and logarithms.
Tensor exp(const Tensor& x);
Tensor exp2(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor log2(const Tensor& x);
Tensor log10(const Tensor& x);
// logaddexp returns log(exp(a) + exp(b)).
Tensor logaddexp(const Tensor& a, const Tensor& b);

// xlogy returns x * log(y), and 0 where x is 0 and y no NaN.
Tensor xlogy(const Tensor& x, const Tensor& y);

// Roots; rsqrt is 1 / sqrt(x).
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);

// The error function, and erfc(x) = 1 - erf(x) without its cancellation.
Tensor erf(const Tensor& x);
Tensor erfc(const Tensor& x);
// sigmoid returns 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& x);

// Rounding to an integer: down, up, to the nearest (ties to even), toward zero. Integers stay.
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);
Tensor trunc(const Tensor& x);

// floor_ rounds in place.
Tensor& floor_(Tensor& self);

}  // namespace simmesh
