#pragma once

#include <simmesh/core/ops/op.h>

namespace simmesh {

// Decompositions of matrices [..., n, m] of float32 or float64, computed in double by plain loops
// of a fixed order. They have no gradients. Wrong shapes and dtypes raise a RuntimeError.

// cholesky returns the lower triangular L with L L^T = a. Raises a RuntimeError where a isn't
// positive definite. Reads the lower triangle.
Tensor cholesky(const Tensor& a);

// solve returns x with a x = b, for a[..., n, n] and b[..., n, k]; inverse the inverse of a; det
// its determinant: by elimination with the largest pivot of each column. Raises a RuntimeError for
// a singular a, but det returns zero.
Tensor solve(const Tensor& a, const Tensor& b);
Tensor inverse(const Tensor& a);
Tensor det(const Tensor& a);

// Qr is q[..., n, k] with orthonormal columns and the upper triangular r[..., k, m], k the lesser
// of n and m.
struct Qr {
  Tensor q;
  Tensor r;
};
// qr decomposes by Householder reflections, as LAPACK does.
Qr qr(const Tensor& a);

// Eigh is the ascending eigenvalues [..., n] of a symmetric matrix and its eigenvectors, the
// columns of [..., n, n].
struct Eigh {
  Tensor values;
  Tensor vectors;
};
// eigh decomposes by Jacobi rotations. Reads the lower triangle.
Eigh eigh(const Tensor& a);

// linear_algebra_ops returns the ops of this file.
gsl::span<const Op* const> linear_algebra_ops();

}  // namespace simmesh
