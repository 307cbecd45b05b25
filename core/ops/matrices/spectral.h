#pragma once

#include "core/ops/op.h"

namespace simmesh {

// Decompositions of matrices [..., n, m] of float32 or float64, computed in double by plain loops
// of a fixed order. Wrong shapes and dtypes raise a RuntimeError. Their factors are determined up
// to signs; gradients are correct for functions that don't depend on the signs.

// Qr is q[..., n, k] with orthonormal columns and the upper triangular r[..., k, m], k the lesser
// of n and m.
struct Qr {
  Tensor q;
  Tensor r;
};
// qr decomposes by Householder reflections, as LAPACK does. The first k columns must be independent
// for a gradient.
Qr qr(const Tensor& a);

// Eigh is the ascending eigenvalues [..., n] of a symmetric matrix and its eigenvectors, the
// columns of [..., n, n].
struct Eigh {
  Tensor values;
  Tensor vectors;
};
// eigh decomposes by Jacobi rotations. Reads the lower triangle; the gradient is that of a
// symmetric a. That of the vectors is finite only where all values differ.
Eigh eigh(const Tensor& a);

// Svd is u[..., n, k] with orthonormal columns, the descending singular values s[..., k] and
// vh[..., k, m] with orthonormal rows: a = u diag(s) vh, k the lesser of n and m.
struct Svd {
  Tensor u;
  Tensor s;
  Tensor vh;
};
// svd decomposes by one-sided Jacobi rotations. The gradient of u and vh is finite only where all
// values differ and none is zero. svdvals returns the values alone.
Svd svd(const Tensor& a);
Tensor svdvals(const Tensor& a);

}  // namespace simmesh
