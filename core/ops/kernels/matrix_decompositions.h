#pragma once

#include <cstdint>
#include <vector>

namespace simmesh {

// Decompositions of one matrix of doubles, by plain loops of a fixed order: the same bits wherever
// they run. (In Eigen's the order of additions depends on the sizes of the processor's caches.)

// Matrix is row-major.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values;

  double& operator()(std::int64_t row, std::int64_t column) {
    return values[std::size_t(row * columns + column)];
  }
  double operator()(std::int64_t row, std::int64_t column) const {
    return values[std::size_t(row * columns + column)];
  }
};

// cholesky_factor returns the lower triangular L with L L^T = a, from the lower triangle of a.
// Raises a RuntimeError where a isn't positive definite.
Matrix cholesky_factor(const Matrix& a);

// Elimination is the solution of a x = b and the determinant of a: as a number, and as its sign and
// the logarithm of its magnitude.
struct Elimination {
  Matrix solution;
  double determinant = 1;
  double sign = 1;
  double log_determinant = 0;
  bool singular = false;  // then there is no solution
};
// eliminated solves by Gauss elimination with the largest pivot of each column.
Elimination eliminated(Matrix a, Matrix b);

// Reflections is q r = a: q[n, k] with orthonormal columns, r[k, m] upper triangular, k the lesser
// size.
struct Reflections {
  Matrix q;
  Matrix r;
};
// reflected decomposes by Householder reflections.
Reflections reflected(Matrix a);

// Rotations is the ascending eigenvalues of a symmetric matrix and the eigenvectors as columns.
struct Rotations {
  std::vector<double> values;
  Matrix vectors;
};
// rotated decomposes by cyclic Jacobi rotations, from the lower triangle.
Rotations rotated(Matrix a);

// Singular is u diag(values) v^T = a: u[n, k] and v[m, k] with orthonormal columns, k the lesser
// size, and the values in descending order.
struct Singular {
  Matrix u;
  std::vector<double> values;
  Matrix v;
};
// singular decomposes by rotations of pairs of columns (one-sided Jacobi).
Singular singular(const Matrix& a);

}  // namespace simmesh
