#pragma once

#include <cstdint>

#include "core/tensor/tensor.h"

namespace simmesh::optim {

// InverseRoot says which root of a matrix is computed, and how closely.
struct InverseRoot {
  std::int64_t root = 4;
  // Added to the diagonal, as a share of the bound of the largest eigenvalue: the largest sum of
  // absolute values in a row.
  double ridge = 1e-12;
  // The iteration ends where h^root a differs from 1 by at most this in every element, where it
  // comes no closer, or after a number of iterations.
  double tolerance = 1e-13;
  std::int64_t iterations = 100;
};

// inverse_root returns a^(-1 / root) of a symmetric positive semidefinite matrix a[n, n] by coupled
// Newton iterations (Guo and Higham 2006), products alone: computed in float64, sums as the
// arithmetic in effect has them, and rounded to a's dtype. Of a matrix of zeros it returns 1.
// Raises a ValueError unless a is square and the root is a power of two.
Tensor inverse_root(const Tensor& a, const InverseRoot& how = {});

}  // namespace simmesh::optim
