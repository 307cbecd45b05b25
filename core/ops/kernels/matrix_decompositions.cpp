#include "core/ops/kernels/matrix_decompositions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/arithmetic/functions.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

Matrix identity(std::int64_t size) {
  Matrix result = {size, size, std::vector<double>(std::size_t(size * size), 0.0)};
  for (std::int64_t i = 0; i < size; ++i) result(i, i) = 1;
  return result;
}

void swap_rows(Matrix& a, std::int64_t i, std::int64_t j) {
  for (std::int64_t c = 0; c < a.columns; ++c) std::swap(a(i, c), a(j, c));
}

// Subtracts factor times row j from row i.
void subtract_row(Matrix& a, std::int64_t i, std::int64_t j, double factor) {
  for (std::int64_t c = 0; c < a.columns; ++c) a(i, c) -= factor * a(j, c);
}

// A rotation of columns p and q of a by the angle of cosine c and sine s.
struct Turn {
  std::int64_t p;
  std::int64_t q;
  double c;
  double s;

  void columns(Matrix& a) const {
    for (std::int64_t k = 0; k < a.rows; ++k) {
      double x = a(k, p), y = a(k, q);
      a(k, p) = c * x - s * y;
      a(k, q) = s * x + c * y;
    }
  }
  void rows(Matrix& a) const {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      double x = a(p, k), y = a(q, k);
      a(p, k) = c * x - s * y;
      a(q, k) = s * x + c * y;
    }
  }
};

// Returns the rotation that makes element (p, q) of a symmetric matrix zero.
Turn turn_of(const Matrix& a, std::int64_t p, std::int64_t q) {
  double theta = (a(q, q) - a(p, p)) / (2 * a(p, q));
  double t = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
  double c = 1 / std::sqrt(t * t + 1);
  return {p, q, c, t * c};
}

double off_diagonal(const Matrix& a) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < i; ++j) sum += a(i, j) * a(i, j);
  return sum;
}

// Subtracts 2 v (v^T a) from the rows of a from `first` on.
void reflect(Matrix& a, const std::vector<double>& v, std::int64_t first) {
  for (std::int64_t c = 0; c < a.columns; ++c) {
    double product = 0;
    for (std::int64_t r = first; r < a.rows; ++r) product += v[std::size_t(r)] * a(r, c);
    for (std::int64_t r = first; r < a.rows; ++r) a(r, c) -= 2 * product * v[std::size_t(r)];
  }
}

// Returns the unit vector that reflects column c of a onto its element (c, c); empty where all
// below is zero.
std::vector<double> reflection_of(const Matrix& a, std::int64_t c) {
  double below = 0;
  for (std::int64_t r = c + 1; r < a.rows; ++r) below += a(r, c) * a(r, c);
  if (below == 0) return {};
  double norm = std::sqrt(a(c, c) * a(c, c) + below);
  double head = a(c, c) + (a(c, c) < 0 ? -norm : norm);
  double length = std::sqrt(head * head + below);
  std::vector<double> v(std::size_t(a.rows), 0.0);
  v[std::size_t(c)] = head / length;
  for (std::int64_t r = c + 1; r < a.rows; ++r) v[std::size_t(r)] = a(r, c) / length;
  return v;
}

}  // namespace

Matrix cholesky_factor(const Matrix& a) {
  Matrix l = {a.rows, a.rows, std::vector<double>(a.values.size(), 0.0)};
  for (std::int64_t j = 0; j < a.rows; ++j) {
    for (std::int64_t i = j; i < a.rows; ++i) {
      double left = a(i, j);
      for (std::int64_t k = 0; k < j; ++k) left -= l(i, k) * l(j, k);
      if (i == j && !(left > 0))
        raise(ErrorKind::runtime_error, "linalg_cholesky",
              "The factorization could not be completed because the input is not "
              "positive-definite (the leading minor of order {} is not positive-definite).",
              j + 1);
      l(i, j) = i == j ? std::sqrt(left) : left / l(j, j);
    }
  }
  return l;
}

Elimination eliminated(Matrix a, Matrix b) {
  Elimination result;
  std::int64_t n = a.rows;
  for (std::int64_t c = 0; c < n; ++c) {
    std::int64_t pivot = c;
    for (std::int64_t r = c + 1; r < n; ++r)
      if (std::fabs(a(r, c)) > std::fabs(a(pivot, c))) pivot = r;
    if (a(pivot, c) == 0)
      return {.solution = {},
              .determinant = 0,
              .sign = 0,
              .log_determinant = -std::numeric_limits<double>::infinity(),
              .singular = true};
    result.determinant *= pivot == c ? a(pivot, c) : -a(pivot, c);
    result.sign *= (a(pivot, c) < 0) == (pivot == c) ? -1 : 1;
    result.log_determinant += apply_function(Function::log, std::fabs(a(pivot, c)));
    swap_rows(a, c, pivot);
    swap_rows(b, c, pivot);
    for (std::int64_t r = c + 1; r < n; ++r) {
      double factor = a(r, c) / a(c, c);
      subtract_row(a, r, c, factor);
      subtract_row(b, r, c, factor);
    }
  }
  for (std::int64_t r = n; r-- > 0;) {
    for (std::int64_t k = r + 1; k < n; ++k) subtract_row(b, r, k, a(r, k));
    for (std::int64_t c = 0; c < b.columns; ++c) b(r, c) /= a(r, r);
  }
  result.solution = std::move(b);
  return result;
}

Reflections reflected(Matrix a) {
  std::int64_t least = std::min(a.rows, a.columns);
  std::vector<std::vector<double>> vectors;
  for (std::int64_t c = 0; c < least; ++c) {
    vectors.push_back(reflection_of(a, c));
    if (!vectors.back().empty()) reflect(a, vectors.back(), c);
  }
  Matrix whole = identity(a.rows);
  for (std::int64_t c = least; c-- > 0;)
    if (!vectors[std::size_t(c)].empty()) reflect(whole, vectors[std::size_t(c)], c);
  Reflections result = {
      {a.rows, least, std::vector<double>(std::size_t(a.rows * least), 0.0)},
      {least, a.columns, std::vector<double>(std::size_t(least * a.columns), 0.0)}};
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (std::int64_t c = 0; c < least; ++c) result.q(r, c) = whole(r, c);
  for (std::int64_t r = 0; r < least; ++r)
    for (std::int64_t c = r; c < a.columns; ++c) result.r(r, c) = a(r, c);
  return result;
}

Rotations rotated(Matrix a) {
  constexpr int sweeps_max = 60;
  std::int64_t n = a.rows;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + 1; j < n; ++j) a(i, j) = a(j, i);
  Matrix vectors = identity(n);
  for (int sweep = 0; sweep < sweeps_max && off_diagonal(a) > 0; ++sweep)
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        double scale = std::fabs(a(p, p)) + std::fabs(a(q, q));
        if (std::fabs(a(p, q)) <= 0x1p-60 * scale) {
          a(p, q) = a(q, p) = 0;
          continue;
        }
        Turn turn = turn_of(a, p, q);
        turn.columns(a);
        turn.rows(a);
        turn.columns(vectors);
      }
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t i, std::int64_t j) { return a(i, i) < a(j, j); });
  Rotations result = {{}, {n, n, std::vector<double>(a.values.size())}};
  for (std::int64_t c = 0; c < n; ++c) {
    std::int64_t from = order[std::size_t(c)];
    result.values.push_back(a(from, from));
    for (std::int64_t r = 0; r < n; ++r) result.vectors(r, c) = vectors(r, from);
  }
  return result;
}

}  // namespace simmesh
