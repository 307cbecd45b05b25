#include "core/ops/elementwise/gamma.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/arithmetic/functions.h"
#include "core/ops/call.h"
#include "core/ops/kernels/function_op.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

using std::numbers::pi;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double half_log_two_pi = 0.91893853320467274178;

double log_of(double x) { return apply_function(Function::log, x); }

bool is_pole(double x) { return x <= 0 && x == std::floor(x); }

// Returns the sine or cosine of pi x; the argument is reduced first, exactly.
double sin_of_pi(double x) {
  double rest = x - 2 * std::rint(x / 2);
  return apply_function(Function::sin, pi * rest);
}
double cos_of_pi(double x) {
  double rest = x - 2 * std::rint(x / 2);
  return apply_function(Function::cos, pi * rest);
}

// Returns the sum of coefficients times powers of 1 / z^2, from the smallest term on.
template <std::size_t N>
double series(const std::array<double, N>& coefficients, double z) {
  double square = 1 / (z * z), sum = 0;
  for (std::size_t i = N; i-- > 0;) sum = sum * square + coefficients[i];
  return sum;
}

// From here on Stirling's asymptotic series are correct to the last bits.
constexpr double series_from = 16;

constexpr std::array lgamma_terms = {1.0 / 12,   -1.0 / 360,        1.0 / 1260, -1.0 / 1680,
                                     1.0 / 1188, -691.0 / 360360.0, 1.0 / 156};
constexpr std::array digamma_terms = {1.0 / 12,  -1.0 / 120,       1.0 / 252, -1.0 / 240,
                                      1.0 / 132, -691.0 / 32760.0, 1.0 / 12};
constexpr std::array trigamma_terms = {1.0 / 6,  -1.0 / 30,       1.0 / 42, -1.0 / 30,
                                       5.0 / 66, -691.0 / 2730.0, 7.0 / 6};

double lgamma_of(double x) {
  if (x != x) return x;
  if (std::isinf(x) || is_pole(x)) return infinity;
  if (x == 1 || x == 2) return 0;
  if (x < 0.5) return log_of(pi / std::fabs(sin_of_pi(x))) - lgamma_of(1 - x);
  double product = 1;
  double z = x;
  for (; z < series_from; z += 1) product *= z;
  double at_z = (z - 0.5) * log_of(z) - z + half_log_two_pi + series(lgamma_terms, z) / z;
  return at_z - log_of(product);
}

double digamma_of(double x) {
  if (x == 0) return std::signbit(x) ? infinity : -infinity;
  if (x != x || x == -infinity || is_pole(x)) return std::numeric_limits<double>::quiet_NaN();
  if (x == infinity) return x;
  if (x < 0) return digamma_of(1 - x) - pi * cos_of_pi(x) / sin_of_pi(x);
  double below = 0, z = x;
  for (; z < series_from; z += 1) below += 1 / z;
  return log_of(z) - 0.5 / z - series(digamma_terms, z) / (z * z) - below;
}

double trigamma_of(double x) {
  if (x != x || x == -infinity) return std::numeric_limits<double>::quiet_NaN();
  if (x == infinity) return 0;
  if (is_pole(x)) return infinity;
  if (x < 0) {
    double slope = pi / sin_of_pi(x);
    return slope * slope - trigamma_of(1 - x);
  }
  double below = 0, z = x;
  for (; z < series_from; z += 1) below += 1 / (z * z);
  return 1 / z + 0.5 / (z * z) + series(trigamma_terms, z) / (z * z * z) + below;
}

const Op lgamma_op = made_op("lgamma", double_loops<1>(lgamma_of));
const Op digamma_op = made_op("digamma", double_loops<1>(digamma_of));
const Op trigamma_op = made_op("trigamma", double_loops<1>(trigamma_of));

}  // namespace

Tensor lgamma(const Tensor& x) { return call_one(lgamma_op, {x}); }
Tensor digamma(const Tensor& x) { return call_one(digamma_op, {x}); }
Tensor trigamma(const Tensor& x) { return call_one(trigamma_op, {x}); }

void gamma_ops(OpList& ops) { ops.add({&lgamma_op, &digamma_op, &trigamma_op}); }

}  // namespace simmesh
