#pragma once

#include "core/ops/op.h"

namespace simmesh {

// The gamma function's logarithm and derivatives, elementwise: floating results, float32 for
// integers; computed in double, with the same bits on every processor, and rounded once. The error
// is a few 1e-15 of the largest term that is added up.

// lgamma returns log(|gamma(x)|), infinite at zero and the negative integers; digamma its
// derivative, -inf at 0 and NaN at the negative integers; trigamma that of digamma.
Tensor lgamma(const Tensor& x);
Tensor digamma(const Tensor& x);
Tensor trigamma(const Tensor& x);

}  // namespace simmesh
