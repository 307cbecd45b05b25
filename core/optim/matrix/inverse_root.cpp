#include "core/optim/matrix/inverse_root.h"

#include <algorithm>
#include <cmath>

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"

namespace simmesh::optim {

namespace {

void require_root(const Tensor& a, const InverseRoot& how) {
  if (a.dim() != 2 || a.size(0) != a.size(1))
    raise(ErrorKind::value_error, "optim/inverse_root", "expected a square matrix, got {}",
          to_string(DimSpan(a.shape())));
  if (how.root < 1 || (how.root & (how.root - 1)) != 0)
    raise(ErrorKind::value_error, "optim/inverse_root", "expected a power of two, got the root {}",
          how.root);
}

// Returns an identity matrix times a factor.
Tensor scaled_identity(std::int64_t n, double factor) {
  Tensor identity = zeros({n, n}, DType::float64);
  if (!identity.has_elements()) return identity;
  auto values = identity.mutable_values<double>();
  for (std::int64_t i = 0; i < n; ++i) values[std::size_t(i * n + i)] = factor;
  return identity;
}

double largest_row_sum(const Tensor& a) {
  auto values = a.values<double>();
  std::size_t n = std::size_t(a.size(0));
  double largest = 0;
  for (std::size_t row = 0; row < n; ++row) {
    double sum = 0;
    for (std::size_t column = 0; column < n; ++column) sum += std::abs(values[row * n + column]);
    largest = std::max(largest, sum);
  }
  return largest;
}

double distance_from_identity(const Tensor& m) {
  auto values = m.values<double>();
  std::size_t n = std::size_t(m.size(0));
  double distance = 0;
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column < n; ++column)
      distance =
          std::max(distance, std::abs(values[row * n + column] - (row == column ? 1.0 : 0.0)));
  return distance;
}

// Squares a number or a matrix until it has the given power, a power of two.
template <class T, class Square>
T repeated(T value, std::int64_t power, Square square) {
  for (; power > 1; power /= 2) value = square(value);
  return value;
}

}  // namespace

Tensor inverse_root(const Tensor& given, const InverseRoot& how) {
  require_root(given, how);
  NoGrad mode;
  std::int64_t n = given.size(0);
  if (n == 0 || !given.has_elements()) return zeros(given.shape(), given.dtype());
  Tensor a = to(given, DType::float64).contiguous();
  double bound = largest_row_sum(a);
  if (bound == 0) return to(scaled_identity(n, 1.0), given.dtype());
  a = add(a, scaled_identity(n, how.ridge * bound));
  auto root = double(how.root);
  double scale = (1.0 + root) / (2.0 * bound * (1.0 + how.ridge));
  // m = h^root a holds before and after each iteration, in which m comes closer to 1.
  Tensor m = mul(a, scale);
  Tensor h =
      scaled_identity(n, repeated(scale, how.root, [](double value) { return std::sqrt(value); }));
  double distance = distance_from_identity(m);
  for (std::int64_t i = 0; i < how.iterations && distance > how.tolerance; ++i) {
    Tensor factor = add(scaled_identity(n, 1.0 + 1.0 / root), mul(m, -1.0 / root));
    Tensor next = mm(repeated(factor, how.root, [](const Tensor& x) { return mm(x, x); }), m);
    double closer = distance_from_identity(next);
    // The first iterations of an ill-conditioned matrix may stay at one distance.
    if (!(closer < distance) && distance < 0.5) break;
    h = mm(h, factor);
    m = next;
    distance = closer;
  }
  return to(h, given.dtype());
}

}  // namespace simmesh::optim
