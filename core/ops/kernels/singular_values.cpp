#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ops/kernels/matrix_decompositions.h"

namespace simmesh {

namespace {

constexpr double negligible = 0x1p-52;

Matrix turned(const Matrix& a) {
  Matrix result = {a.columns, a.rows, std::vector<double>(a.values.size())};
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
  return result;
}

double column_product(const Matrix& a, std::int64_t p, std::int64_t q) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) sum += a(i, p) * a(i, q);
  return sum;
}

// Columns p and q of a, turned by the angle of cosine c and sine s.
void turn_columns(Matrix& a, std::int64_t p, std::int64_t q,
                  const std::pair<double, double>& turn) {
  auto [c, s] = turn;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    double x = a(i, p), y = a(i, q);
    a(i, p) = c * x - s * y;
    a(i, q) = s * x + c * y;
  }
}

// Turns pairs of columns of a until all are orthogonal, and v with them.
void make_orthogonal(Matrix& a, Matrix& v) {
  constexpr int sweeps_max = 60;
  bool changed = true;
  for (int sweep = 0; sweep < sweeps_max && changed; ++sweep) {
    changed = false;
    for (std::int64_t p = 0; p < a.columns; ++p)
      for (std::int64_t q = p + 1; q < a.columns; ++q) {
        double product = column_product(a, p, q);
        double own = column_product(a, p, p), other = column_product(a, q, q);
        if (std::fabs(product) <= negligible * std::sqrt(own * other)) continue;
        changed = true;
        double theta = (other - own) / (2 * product);
        double t = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
        double c = 1 / std::sqrt(t * t + 1);
        turn_columns(a, p, q, {c, t * c});
        turn_columns(v, p, q, {c, t * c});
      }
  }
}

// Makes column c of u a unit vector orthogonal to those before it: the rest of the axis of which
// they leave the most.
void complete_column(Matrix& u, std::int64_t c) {
  double longest = -1;
  std::vector<double> best;
  for (std::int64_t axis = 0; axis < u.rows; ++axis) {
    std::vector<double> rest(std::size_t(u.rows), 0.0);
    rest[std::size_t(axis)] = 1;
    for (std::int64_t k = 0; k < c; ++k) {
      double product = 0;
      for (std::int64_t i = 0; i < u.rows; ++i) product += u(i, k) * rest[std::size_t(i)];
      for (std::int64_t i = 0; i < u.rows; ++i) rest[std::size_t(i)] -= product * u(i, k);
    }
    double square = 0;
    for (double x : rest) square += x * x;
    if (square > longest) {
      longest = square;
      best = rest;
    }
  }
  for (std::int64_t i = 0; i < u.rows; ++i) u(i, c) = best[std::size_t(i)] / std::sqrt(longest);
}

Singular tall_singular(Matrix a) {
  std::int64_t n = a.columns;
  Matrix v = {n, n, std::vector<double>(std::size_t(n * n), 0.0)};
  for (std::int64_t i = 0; i < n; ++i) v(i, i) = 1;
  make_orthogonal(a, v);
  std::vector<double> lengths;
  for (std::int64_t c = 0; c < n; ++c) lengths.push_back(std::sqrt(column_product(a, c, c)));
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    return lengths[std::size_t(i)] > lengths[std::size_t(j)];
  });
  Singular result = {a, {}, v};
  double tiny = n == 0 ? 0 : negligible * lengths[std::size_t(order[0])];
  for (std::int64_t c = 0; c < n; ++c) {
    std::int64_t from = order[std::size_t(c)];
    double length = lengths[std::size_t(from)];
    result.values.push_back(length);
    for (std::int64_t i = 0; i < n; ++i) result.v(i, c) = v(i, from);
    if (length > tiny)
      for (std::int64_t i = 0; i < a.rows; ++i) result.u(i, c) = a(i, from) / length;
    else
      complete_column(result.u, c);
  }
  return result;
}

}  // namespace

Singular singular(const Matrix& a) {
  if (a.rows >= a.columns) return tall_singular(a);
  Singular wide = tall_singular(turned(a));
  return {wide.v, wide.values, wide.u};
}

}  // namespace simmesh
