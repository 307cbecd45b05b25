#pragma once

#include "core/ops/op.h"

namespace simmesh {

// Linear equations of matrices [..., n, n] of float32 or float64, computed in double by plain loops
// of a fixed order. Wrong shapes and dtypes raise a RuntimeError.

// cholesky returns the lower triangular L with L L^T = a. Raises a RuntimeError where a isn't
// positive definite. Reads the lower triangle; the gradient is that of a symmetric a.
Tensor cholesky(const Tensor& a);

// solve returns x with a x = b, for a[..., n, n] and b[..., n, k]; inverse returns the inverse of
// a; det its determinant: by elimination with the largest pivot of each column. Raises a
// RuntimeError for a singular a; det returns zero for it, and only its gradient raises.
Tensor solve(const Tensor& a, const Tensor& b);
Tensor inverse(const Tensor& a);
Tensor det(const Tensor& a);

// SignAndLogarithm are the sign of a determinant, or 0, and the logarithm of its magnitude.
struct SignAndLogarithm {
  Tensor sign;
  Tensor logarithm;
};
// slogdet returns both without leaving the range of the dtype, logdet the logarithm of the
// determinant, NaN where that is below zero.
SignAndLogarithm slogdet(const Tensor& a);
Tensor logdet(const Tensor& a);

}  // namespace simmesh
