#pragma once

#include "core/tensor/tensor.h"

namespace simmesh {

// A partial p-norm is reduced as a sum of powers. norm_to_sum raises a rank's norm to the p-th
// power, sum_to_norm takes the root of their sum; for p = 0 and for the infinities both return the
// tensor unchanged. Powers of 2, 4 and 8 are squares and square roots, each rounded; those of other
// exponents are computed in double by `power` and rounded once. Floating dtypes only (TypeError).
Tensor norm_to_sum(const Tensor& norm, double p);
Tensor sum_to_norm(const Tensor& sum, double p);

}  // namespace simmesh
