#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh::optim {

// QuinticIteration is the iteration of Newton and Schulz as PyTorch's Muon has it: a x + b x^3 +
// c x^5 on the singular values, a number of times. A negative number of steps is none.
struct QuinticIteration {
  std::vector<double> coefficients = {3.4445, -4.775, 2.0315};
  double eps = 1e-7;  // the least norm that x is divided by
  std::int64_t steps = 5;
};

// orthogonalized_by_quintic returns a bfloat16 matrix with the singular vectors of x[n, m] and
// singular values near 1. x is rounded to bfloat16, divided by its Frobenius norm, and iterated on
// its shorter side. Each product, with its scaling and addition, is computed in float32 and rounded
// once to bfloat16; sums are those of the arithmetic in effect. Raises a ValueError for 100 steps
// or more, for x that isn't a matrix, and unless there are three coefficients.
Tensor orthogonalized_by_quintic(const Tensor& x, const QuinticIteration& iteration = {});

}  // namespace simmesh::optim
