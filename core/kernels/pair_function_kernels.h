#pragma once

// Like lanes.h: hyperbolic functions, inverse ones and erfc, for which sums, products and roots
// keep what their rounding loses. Coefficients are from 300-bit arithmetic.
namespace simmesh::SIMMESH_KERNELS {
namespace {

// (asin x - x) / x^3 in powers of x^2, for |x| <= 1/2.
inline constexpr double asin_terms[] = {
    0x1.5555555555556p-3, 0x1.3333333332ecap-4, 0x1.6db6db6e31f13p-5, 0x1.f1c71c1db0623p-6,
    0x1.6e8bb1c8209a2p-6, 0x1.1c4d35cf95421p-6, 0x1.c9cf07674736ap-7, 0x1.782651caa6547p-7,
    0x1.52420b04b37bep-7, 0x1.65a9c4dfcf8b2p-8, 0x1.1d189408314eep-6, -0x1.e6aaa8a0a04ccp-7,
    0x1.d72b2bc8155f8p-6};
// (asinh x - x) / x^3 in powers of x^2, for |x| <= 1/2.
inline constexpr double asinh_terms[] = {
    -0x1.5555555555555p-3, 0x1.33333333332fap-4, -0x1.6db6db6db086ep-5, 0x1.f1c71c6d66156p-6,
    -0x1.6e8ba21ea4fe4p-6, 0x1.1c4eaf29403b6p-6, -0x1.c9969396f4545p-7, 0x1.7a633fba31150p-7,
    -0x1.3eb1386278c61p-7, 0x1.0c1eacb8f71b5p-7, -0x1.a851c6e415a26p-8, 0x1.0f3620d560e0dp-8,
    -0x1.88e92bd4ca98ep-10};
// (atan x - x) / x^3 in powers of x^2, for |x| <= 0.19.
inline constexpr double atan_terms[] = {
    -0x1.5555555555555p-2, 0x1.9999999999994p-3,  -0x1.249249249154fp-3,
    0x1.c71c71c4fcc2fp-4,  -0x1.745d16164ba67p-4, 0x1.3b1351dff5f85p-4,
    -0x1.10ff6a7bfbb37p-4, 0x1.de0d2a1721c3cp-5,  -0x1.74ec91221d831p-5};
// atan(k / 4) as two doubles; pi/2 last.
inline constexpr double atan_steps[24][2] = {
    {0x0.0000000000000p+0, 0x0.0000000000000p+0},   {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
    {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},  {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
    {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},  {0x1.cac7c57846f9ep-1, 0x1.0dae13ad18a6bp-55},
    {0x1.f730bd281f69bp-1, 0x1.007887af0cbbdp-56},  {0x1.0d38f2c5ba09fp+0, -0x1.bd0dc231bfd70p-54},
    {0x1.1b6e192ebbe44p+0, 0x1.b1b466a88828ep-54},  {0x1.270ef55a53a25p+0, -0x1.a66b1af5f84fbp-54},
    {0x1.30b6d796a4da8p+0, 0x1.6254cb03bb199p-54},  {0x1.38d6a6ce13353p+0, -0x1.12c77e8a80f5cp-55},
    {0x1.3fc176b7a8560p+0, -0x1.441a3bd3f1083p-59}, {0x1.45b54837351a0p+0, 0x1.9e4a72eedacc4p-56},
    {0x1.4ae10fc6589a5p+0, -0x1.3b03e8a27f555p-54}, {0x1.4f68dea672617p+0, 0x1.934f9f2b0020ep-54},
    {0x1.5368c951e9cfdp+0, -0x1.96f47948a99f1p-54}, {0x1.56f6f33a3e6a7p+0, -0x1.df6edd6f1ec3bp-56},
    {0x1.5a25052114e60p+0, 0x1.8c2d0c89de218p-56},  {0x1.5d013c41adabdp+0, 0x1.f82bba194dd5dp-54},
    {0x1.5f97315254857p+0, -0x1.31151a43b51cap-55}, {0x1.61f06c6a92b89p+0, -0x1.487d50bceb1a5p-55},
    {0x1.6414d44094c7cp+0, -0x1.c5f60a65c7397p-54}, {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54}};

// A sum or product of two doubles with what its rounding loses.
struct Pair {
  double high, low;
};
inline Pair sum_of(double a, double b) {
  double sum = a + b, back = sum - a;
  return {sum, (a - (sum - back)) + (b - back)};
}
inline Pair product_of(double a, double b) {
  double a_cut = of_bits(bits_of(a) & 0xFFFFFFFFF8000000u), a_rest = a - a_cut;
  double b_cut = of_bits(bits_of(b) & 0xFFFFFFFFF8000000u), b_rest = b - b_cut;
  double product = a * b;
  return {product, ((a_cut * b_cut - product) + a_cut * b_rest + a_rest * b_cut) + a_rest * b_rest};
}

// exp(x + low) for a low whose part in the rest counts, unlike exp_of's: up to 2^-30.
inline double exp_of_pair(double x, double low) {
  Reduced r = reduce_exponent(x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x);
  double tail = exp_tail(r.rest);
  tail += (r.correction + low) * (1 + (r.rest + tail));
  double result = scaled(1 + (r.rest + tail), r.k);
  return x == infinity ? infinity : result;
}

// exp(x) / 2, beyond where exp(x) is infinite too.
inline double half_exp(double x) { return exp_of_pair(x - ln2_high, -ln2_low); }

inline double sinh_of(double x) {
  double magnitude = absolute(x), square = x * x, sum = inverse_factorials[19];
#pragma GCC unroll 16
  for (int i = 17; i >= 3; i -= 2) sum = sum * square + inverse_factorials[i];
  double half = half_exp(magnitude), large = half - 0.25 / half;
  return chosen(magnitude < 1, x + x * square * sum, chosen(x != x, x, with_sign_of(large, x)));
}

inline double cosh_of(double x) {
  double half = half_exp(absolute(x));
  return chosen(x != x, x, half + 0.25 / half);
}

// erfc(x) exp(x^2) by piece, and exp(-x^2) with what x^2 loses.
inline double erfc_of(double x) {
  double magnitude = absolute(x), m = chosen(magnitude < 27.999, magnitude, 27.999);
  bool narrow = m < 8;
  double scale = chosen(m < 4, 4, chosen(narrow, 2, chosen(m < 16, 1, 0.5)));
  double first = chosen(m < 4, 0, chosen(narrow, 8, chosen(m < 16, 16, 24)));
  double place = m * scale + first, shifted = (place - 0.5) + integer_shift;
  double piece = shifted - integer_shift;
  piece = chosen(piece > place, piece - 1, chosen(piece < 0, 0, piece));
  auto row = std::int64_t(bits_of(piece + integer_shift) & 63) * erfc_terms;
  double t = (m - (piece - first + 0.5) / scale) * (2 * scale);
  const double* c = &erfc_pieces[0][0];
  double sum = c[row + erfc_terms - 1];
#pragma GCC unroll 16
  for (int i = erfc_terms - 2; i >= 1; --i) sum = sum * t + c[row + i];
  Pair square = product_of(m, m);
  double tail = exp_of_pair(-square.high, -square.low) * (c[row] + sum * t);
  double result = chosen(magnitude < 28, tail, 0);
  result = chosen(x < 0, 2 - result, result);
  result = chosen(magnitude < 0.25, 1 - with_sign_of(erf_near_zero(magnitude), x), result);
  return chosen(x != x, x, result);
}

// A Horner sum of the terms.
template <int count>
double powers(const double (&terms)[count], double x) {
  double sum = terms[count - 1];
#pragma GCC unroll 16
  for (int i = count - 2; i >= 0; --i) sum = sum * x + terms[i];
  return sum;
}

// Returns the root of x + x_low less the rounded root of x; 0 for 0.
inline double root_rest(double root, double x, double x_low) {
  Pair square = product_of(root, root);
  double rest = (((x - square.high) - square.low) + x_low) / (2 * root);
  return chosen(root == 0, 0, rest);
}

// x + low = (1 + f + f_low) 2^e for x >= 1.
struct Mantissa {
  double f, f_low, e;
};
inline Mantissa mantissa_of(double x, double low) {
  std::uint64_t shifted = bits_of(x) - 0x3FE6A09E667F3BCDu;
  std::uint64_t field = (shifted + 0x4000000000000000u) >> 52;
  double e = of_bits(field | 0x4330000000000000u) - (0x1p52 + 1024);
  double m = of_bits((shifted & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu);
  return {m - 1, low * of_bits((2047 - field) << 52), e};
}

// log(x + low) for x >= 1.
inline Logarithm logarithm_of_pair(double x, double low) {
  Mantissa m = mantissa_of(x, low);
  return log_of_one_plus(m.f, m.f_low, m.e);
}

// The same for x near 1 without the loss: there f + f_low is what exceeds 1.
inline Logarithm logarithm_of_pair(double x, double low, double f, double f_low) {
  Mantissa m = mantissa_of(x, low);
  bool near_one = m.e == 0;
  return log_of_one_plus(chosen(near_one, f, m.f), chosen(near_one, f_low, m.f_low), m.e);
}

// From here on x^2 + 1 is x^2.
inline constexpr double large_argument = 0x1p28;

inline double asinh_of(double x) {
  double magnitude = absolute(x), m = chosen(magnitude < large_argument, magnitude, 1);
  Pair square = product_of(m, m), more = sum_of(square.high, 1);
  more.low += square.low;
  double root = __builtin_sqrt(more.high);
  Pair sum = sum_of(m, root);
  sum.low += root_rest(root, more.high, more.low);
  bool large = magnitude >= large_argument;
  Logarithm l = logarithm_of_pair(chosen(large, magnitude, sum.high), chosen(large, 0, sum.low));
  l.e += chosen(large, 1, 0);
  double w = x * x, small = magnitude + magnitude * w * powers(asinh_terms, w);
  double far = chosen(magnitude == infinity, infinity, log_sum(l));
  return chosen(x != x, x, with_sign_of(chosen(magnitude < 0.5, small, far), x));
}

inline double acosh_of(double x) {
  bool large = x >= large_argument;
  double t = chosen(x >= 1, chosen(large, 1, x - 1), 0);
  Pair square = product_of(t, t), less = sum_of(2 * t, square.high);
  less.low += square.low;
  double root = __builtin_sqrt(less.high);
  Pair sum = sum_of(t, root);
  sum.low += root_rest(root, less.high, less.low);
  Pair near = sum_of(1, sum.high);
  near.low += sum.low;
  Logarithm l =
      logarithm_of_pair(chosen(large, x, near.high), chosen(large, 0, near.low), sum.high, sum.low);
  l.e += chosen(large, 1, 0);
  double result = chosen(x == infinity, x, log_sum(l));
  return chosen(x != x, x, chosen(x < 1, not_a_number(), result));
}

inline double atanh_of(double x) {
  double magnitude = absolute(x), m = chosen(magnitude < 1, magnitude, 0);
  Pair less = sum_of(1, -m);
  double quotient = 2 * m / less.high;
  Pair product = product_of(quotient, less.high);
  double rest = (((2 * m - product.high) - product.low) - quotient * less.low) / less.high;
  Pair sum = sum_of(1, quotient);
  double large = 0.5 * log_sum(logarithm_of_pair(sum.high, sum.low + rest, quotient, rest));
  double small = m + m * (0.5 * atanh_tail(m * m));
  double result = chosen(magnitude == 1, infinity, chosen(m < 0.17, small, large));
  result = chosen(magnitude > 1, not_a_number(), with_sign_of(result, x));
  return chosen(x != x || x == 0, x, result);
}

// atan(c) + atan((x - c) / (1 + x c)) for the nearest c = k / 4, and pi/2 - atan(1 / x) beyond.
inline double atan_of(double x) {
  double magnitude = absolute(x), m = chosen(magnitude < 5.5, magnitude, 5.5);
  bool large = magnitude > 5.5;
  double shifted = chosen(m < 0.1875, 0, 4 * m) + integer_shift;
  double c = (shifted - integer_shift) * 0.25;
  double numerator = chosen(large, -1, m - c), denominator = chosen(large, magnitude, 1 + m * c);
  double z = numerator / denominator, w = z * z;
  auto row = std::int64_t(large ? 23 : bits_of(shifted) & 31) * 2;
  const double* steps = &atan_steps[0][0];
  double rest = steps[row + 1] + z * w * powers(atan_terms, w);
  double result = steps[row] + (z + rest);
  return chosen(x != x, x, with_sign_of(result, x));
}

// asin x = x + tail for |x| <= 1/2; beyond, asin x = pi/2 - 2 asin(root), root^2 = (1 - |x|) / 2.
struct ArcSine {
  double x, root, low;  // asin of the root is root + low
  bool far;
};
inline ArcSine arc_sine(double x) {
  double magnitude = absolute(x), m = chosen(magnitude <= 1, magnitude, 1);
  bool far = m > 0.5;
  double w = chosen(far, 0.5 * (1 - m), m * m);
  double root = chosen(far, __builtin_sqrt(w), m);
  double tail = root * w * powers(asin_terms, w);
  return {x, root, tail + chosen(far, root_rest(root, w, 0), 0), far};
}

inline double asin_of(double x) {
  ArcSine a = arc_sine(x);
  Pair lead = sum_of(half_pi, -2 * a.root);
  double far = lead.high + (lead.low + (half_pi_rest - 2 * a.low));
  double result = with_sign_of(chosen(a.far, far, a.root + a.low), x);
  return chosen(x != x, x, chosen(absolute(x) > 1, not_a_number(), result));
}

inline double acos_of(double x) {
  ArcSine a = arc_sine(x);
  double sign = chosen(x < 0, -1, 1);
  Pair near = sum_of(half_pi, -sign * a.root), beyond = sum_of(2 * half_pi, -2 * a.root);
  double close = near.high + (near.low + (half_pi_rest - sign * a.low));
  double negative = beyond.high + (beyond.low + (2 * half_pi_rest - 2 * a.low));
  double far = chosen(x < 0, negative, 2 * (a.root + a.low));
  double result = chosen(a.far, far, close);
  return chosen(x != x, x, chosen(absolute(x) > 1, not_a_number(), result));
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
