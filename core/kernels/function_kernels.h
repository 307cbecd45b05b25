#pragma once

// Like lanes.h: elementary functions of double in plain additions,
// multiplications and divisions, so that their bits are the same on every processor.
namespace simmesh::SIMMESH_KERNELS {
namespace {

inline std::uint64_t bits_of(double x) { return __builtin_bit_cast(std::uint64_t, x); }
inline double of_bits(std::uint64_t bits) { return __builtin_bit_cast(double, bits); }
inline double absolute(double x) { return of_bits(bits_of(x) & 0x7FFFFFFFFFFFFFFFu); }
inline double with_sign_of(double magnitude, double x) {
  return of_bits(bits_of(magnitude) | (bits_of(x) & 0x8000000000000000u));
}
// chosen returns condition ? a : b in bits. Compilers make no branch of it, so their loops become
// vector code.
inline double chosen(bool condition, double a, double b) {
  std::uint64_t mask = 0 - std::uint64_t(condition);
  return of_bits((bits_of(a) & mask) | (bits_of(b) & ~mask));
}
inline constexpr double infinity = __builtin_inf();
inline double not_a_number() { return of_bits(0x7FF8000000000000u); }

// A double plus this constant has the nearest integer in its low bits.
inline constexpr double integer_shift = 0x1.8p52;

// 2^k for the integer in the low bits of shifted, -1022 <= k <= 1023.
inline double power_of_two(double shifted) {
  return of_bits((bits_of(shifted) - bits_of(integer_shift) + 1023) << 52);
}

// x = k ln 2 + rest + correction, |rest| <= 0.35.
struct Reduced {
  double k_shifted, k, rest, correction;
};
inline Reduced reduce_exponent(double x) {
  double shifted = x * log2_e + integer_shift;
  double k = shifted - integer_shift;
  double high = x - k * ln2_high;
  double rest = high - k * ln2_low;
  return {shifted, k, rest, (high - rest) - k * ln2_low};
}

// exp(r) - 1 - r for |r| <= 0.35.
inline double exp_tail(double r) {
  double sum = inverse_factorials[14];
#pragma GCC unroll 16
  for (int i = 13; i >= 2; --i) sum = sum * r + inverse_factorials[i];
  return sum * (r * r);
}

// Returns value * 2^k in two steps, since 2^k may be no normal number.
inline double scaled(double value, double k) {
  double half_shifted = k * 0.5 + integer_shift;
  double other_shifted = (k - (half_shifted - integer_shift)) + integer_shift;
  return value * power_of_two(half_shifted) * power_of_two(other_shifted);
}

// exp(x + low) for a small low.
inline double exp_of(double x, double low) {
  double limited = x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x;
  Reduced r = reduce_exponent(limited);
  double tail = exp_tail(r.rest) + (r.correction + low) * (1 + r.rest);
  double value = 1 + (r.rest + tail);
  double result = scaled(value, r.k);
  return x != x ? x : x == infinity ? infinity : x == -infinity ? 0 : result;
}
inline double exp_of(double x) { return exp_of(x, 0); }

inline double expm1_of(double x) {
  double limited = x > 710.0 ? 710.0 : x < -60.0 ? -60.0 : x;
  Reduced r = reduce_exponent(limited);
  double tail = exp_tail(r.rest) + r.correction * (1 + r.rest);
  double half_shifted = r.k * 0.5 + integer_shift;
  double other_shifted = (r.k - (half_shifted - integer_shift)) + integer_shift;
  double half = power_of_two(half_shifted), other = power_of_two(other_shifted);
  // 2^k (1 + rest + tail) - 1: the large parts are added first, and what that rounds off is kept.
  double scale = half * other, scale_limited = r.k > 1022 ? 0x1p1022 : scale;
  double lead = scale_limited - 1;
  double back = (scale_limited - lead) - 1;
  double a = r.rest * scale_limited, sum = lead + a;
  double swapped = absolute(lead) > absolute(a) ? (lead - sum) + a : (a - sum) + lead;
  double small = sum + (swapped + (tail * scale_limited + back));
  double large = (1 + (r.rest + tail)) * half * other;
  double result = r.k > 60 ? large : r.k == 0 ? r.rest + tail : small;
  return x != x || x == 0 ? x : x == infinity ? x : x < -60 ? -1.0 : result;
}

// log(m 2^e) with m in [sqrt(1/2), sqrt 2): f = m - 1, the series of 2 atanh(f / (2 + f)).
struct Logarithm {
  double e, high, low;  // log of the rest is high + low
};
inline double atanh_tail(double s2) {
  constexpr double c[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                          2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  double sum = c[10];
#pragma GCC unroll 16
  for (int i = 9; i >= 0; --i) sum = sum * s2 + c[i];
  return sum * s2;
}

// log(1 + f) = f - f^2/2 + s (f^2/2 + tail): f is exact, and f_low is the part that it lacks.
inline Logarithm log_of_one_plus(double f, double f_low, double e) {
  double s = f / (2 + f), half = 0.5 * f * f;
  double tail = s * (half + atanh_tail(s * s)) + f_low / (1 + f);
  // f^2 / 2 exactly: f cut in two halves.
  double f_high = of_bits(bits_of(f) & 0xFFFFFFFFF8000000u), f_rest = f - f_high;
  double half_low = ((0.5 * f_high * f_high - half) + f_high * f_rest) + 0.5 * f_rest * f_rest;
  double high = f - half;
  double low = ((f - high) - half) - half_low;
  return {e, high, low + tail};
}

inline Logarithm logarithm(double x) {
  bool subnormal = x < 0x1p-1022;
  std::uint64_t bits = bits_of(subnormal ? x * 0x1p54 : x);
  // The exponent that brings the mantissa into [sqrt(1/2), sqrt 2).
  std::uint64_t shifted = bits - 0x3FE6A09E667F3BCDu;
  double e = of_bits(((shifted + 0x4000000000000000u) >> 52) | 0x4330000000000000u) -
             (0x1p52 + 1024) - (subnormal ? 54.0 : 0.0);
  double m = of_bits((shifted & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu);
  return log_of_one_plus(m - 1, 0, e);
}

inline double log_sum(const Logarithm& l) {
  double lead = l.e * ln2_high, sum = lead + l.high;
  double lost = absolute(lead) > absolute(l.high) ? (lead - sum) + l.high : (l.high - sum) + lead;
  return sum + (lost + (l.low + l.e * ln2_low));
}

inline double log_limits(double x, double result) {
  return x != x || x == infinity ? x : x < 0 ? not_a_number() : x == 0 ? -infinity : result;
}
inline double log_of(double x) { return log_limits(x, log_sum(logarithm(x))); }

inline double log2_of(double x) {
  Logarithm l = logarithm(x);
  double high = l.high + l.low, low = (l.high - high) + l.low;
  double cut = of_bits(bits_of(high) & 0xFFFFFFFF00000000u);
  low += high - cut;
  double lead = cut * log2_e_high, sum = l.e + lead;
  double lost = absolute(l.e) > absolute(lead) ? (l.e - sum) + lead : (lead - sum) + l.e;
  return log_limits(x, sum + (lost + (cut * log2_e_low + low * log2_e)));
}

inline double log10_of(double x) {
  Logarithm l = logarithm(x);
  double high = l.high + l.low, low = (l.high - high) + l.low;
  double cut = of_bits(bits_of(high) & 0xFFFFFFFF00000000u);
  low += high - cut;
  double lead = l.e * log10_2_high, part = cut * log10_e_high, sum = lead + part;
  double lost = absolute(lead) > absolute(part) ? (lead - sum) + part : (part - sum) + lead;
  double rest = (cut * log10_e_low + low * log10_e) + l.e * log10_2_low;
  return log_limits(x, sum + (lost + rest));
}

inline double log1p_of(double x) {
  double u = 1 + x;
  double lost = chosen(x < 1, x - (u - 1), 1 - (u - x));
  std::uint64_t shifted = bits_of(u) - 0x3FE6A09E667F3BCDu;
  std::uint64_t field = (shifted + 0x4000000000000000u) >> 52;
  double e = of_bits(field | 0x4330000000000000u) - (0x1p52 + 1024);
  double m = of_bits((shifted & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu);
  double scale = chosen(e > 1000, 0, of_bits((2047 - field) << 52));
  bool near_one = e == 0;
  double result =
      log_sum(log_of_one_plus(chosen(near_one, x, m - 1), chosen(near_one, 0, lost * scale), e));
  result = chosen(u == infinity, u, chosen(u == 0, -infinity, result));
  return chosen(x == 0 || x != x, x, chosen(u < 0, not_a_number(), result));
}

inline double tanh_of(double x) {
  double magnitude = absolute(x);
  double t = expm1_of(2 * chosen(magnitude > 22, 22, magnitude));
  double small = t / (t + 2), large = 1 - 2 / (t + 2);
  double result = chosen(magnitude > 22, 1, chosen(magnitude < 0.5, small, large));
  return chosen(x != x, x, with_sign_of(result, x));
}

inline double sigmoid_of(double x) {
  double t = exp_of(-absolute(x));
  double quotient = t / (1 + t);
  double low = t < 0.25 ? t - t * quotient : quotient;
  return x != x ? x : x < 0 ? low : 1 / (1 + t);
}

// The series of erf, which keeps the relative error near 0.
inline double erf_near_zero(double x) {
  double square = x * x, series = 0;
  constexpr double two_over_sqrt_pi = 0x1.20dd750429b6dp+0, rest = 0x1.1ae3a914fed8p-56;
#pragma GCC unroll 16
  for (int i = 11; i >= 1; --i)
    series = series * square + ((i & 1) ? -1.0 : 1.0) * inverse_factorials[i] / (2 * i + 1);
  return x * two_over_sqrt_pi + x * (rest + two_over_sqrt_pi * (series * square));
}

inline double erf_of(double x) {
  double magnitude = absolute(x), limited = chosen(magnitude < 5.999, magnitude, 5.999);
  double floor_shifted = (limited * 4 - 0.5) + integer_shift;
  double piece = floor_shifted - integer_shift;
  piece = chosen(piece > limited * 4, piece - 1, chosen(piece < 0, 0, piece));
  auto row = std::int64_t(bits_of(piece + integer_shift) & 31) * erf_terms;
  const double* c = &erf_pieces[0][0];
  double t = 8 * limited - 2 * piece - 1;
  double sum = c[row + erf_terms - 1];
#pragma GCC unroll 16
  for (int i = erf_terms - 2; i >= 1; --i) sum = sum * t + c[row + i];
  double result = c[row] + sum * t;
  result = chosen(magnitude < 0.25, erf_near_zero(limited), chosen(magnitude < 5.999, result, 1));
  return chosen(x != x, x, with_sign_of(result, x));
}

// An angle as a quarter turn number (mod 4) and the rest within pi/4, as two doubles.
struct Angle {
  std::uint64_t quarter;
  double rest, low;
};

inline Angle reduced_angle(double x) {
  double shifted = x * inverse_half_pi + integer_shift;
  double k = shifted - integer_shift;
  double a = x - k * half_pi_1, b = k * half_pi_2, high = a - b;
  double back = high - a;
  double lost = (a - (high - back)) - (b + back);
  double c = k * half_pi_3, rest = high - c;
  return {bits_of(shifted), rest, ((high - rest) - c) + lost};
}

// Payne and Hanek: multiplies the bits of 2/pi that matter for x by its mantissa.
inline Angle reduced_large_angle(double x) {
  std::uint64_t bits = bits_of(absolute(x));
  std::uint64_t mantissa = (bits & 0x000FFFFFFFFFFFFFu) | 0x0010000000000000u;
  int exponent = int(bits >> 52) - 1075;  // x = mantissa * 2^exponent
  // Bits of 2/pi from 2^(1 - exponent) downwards, times the mantissa; the bits above give whole
  // turns.
  int first = exponent > 2 ? exponent - 2 : 0;
  std::uint64_t part[4];
  for (int i = 0; i < 4; ++i) {
    int word = (first >> 6) + i, offset = first & 63;
    std::uint64_t upper = word < 19 ? two_over_pi[word] : 0;
    std::uint64_t lower = word + 1 < 19 ? two_over_pi[word + 1] : 0;
    part[i] = offset ? upper << offset | lower >> (64 - offset) : upper;
  }
  // product = mantissa * part, 256 bits below the point at 2^(exponent - first).
  __extension__ typedef unsigned __int128 Wide;
  std::uint64_t product[5];
  std::uint64_t carry = 0;
  for (int i = 3; i >= 0; --i) {
    Wide wide = Wide(part[i]) * mantissa + carry;
    product[i + 1] = std::uint64_t(wide);
    carry = std::uint64_t(wide >> 64);
  }
  product[0] = carry;
  // The fixed-point number product * 2^(exponent - first), whose words 1.. are fractions.
  int up = exponent - first;  // 2 or less
  std::uint64_t whole = product[0], high = product[1], low = product[2];
  if (up > 0) {
    whole = whole << up | high >> (64 - up);
    high = high << up | low >> (64 - up);
    low = low << up | product[3] >> (64 - up);
  } else if (up < 0) {
    int down = -up;
    low = low >> down | high << (64 - down);
    high = high >> down | whole << (64 - down);
    whole >>= down;
  }
  bool round_up = (high >> 63) != 0;
  std::uint64_t quarter = whole + (round_up ? 1 : 0);
  if (round_up) {
    high = ~high;
    low = ~low;
  }
  Wide fraction = Wide(high) << 64 | low;
  double f_high = double(std::uint64_t(fraction >> 75));  // 53 bits
  double f_low = double(std::uint64_t(fraction >> 22) & 0x001FFFFFFFFFFFFFu);
  double f = f_high * 0x1p-53, g = f_low * 0x1p-106;
  // (f + g) half_pi as two doubles, f cut in two.
  double f_cut = of_bits(bits_of(f) & 0xFFFFFFFFF8000000u), f_rest = f - f_cut;
  double p_cut = of_bits(bits_of(half_pi) & 0xFFFFFFFFF8000000u), p_rest = half_pi - p_cut;
  double r = f * half_pi;
  double r_low = ((f_cut * p_cut - r) + f_cut * p_rest + f_rest * p_cut) + f_rest * p_rest;
  r_low += f * half_pi_rest + g * half_pi;
  double sign = (round_up != (x < 0)) ? -1.0 : 1.0;
  return {x < 0 ? 0 - quarter : quarter, sign * r, sign * r_low};
}

inline double sin_or_cos(const Angle& angle, std::uint64_t quarters) {
  double r = angle.rest, square = r * r;
  double sine = -inverse_factorials[19], cosine = -inverse_factorials[18];
#pragma GCC unroll 16
  for (int i = 17; i >= 3; i -= 2)
    sine = sine * square + ((i & 2) ? -inverse_factorials[i] : inverse_factorials[i]);
#pragma GCC unroll 16
  for (int i = 16; i >= 4; i -= 2)
    cosine = cosine * square + ((i & 2) ? -inverse_factorials[i] : inverse_factorials[i]);
  sine = r + (sine * square * r + angle.low * (1 - 0.5 * square));
  double half = 0.5 * square, one = 1 - half;
  cosine = one + (((1 - one) - half) + (cosine * square * square - r * angle.low));
  std::uint64_t turned = angle.quarter + quarters;
  double value = (turned & 1) ? cosine : sine;
  return of_bits(bits_of(value) ^ ((turned & 2) << 62));
}

inline constexpr double near_angle_max = 0x1p19;

template <int quarters>
double turned_sine(double x) {
  double result = sin_or_cos(reduced_angle(x), quarters);
  return quarters == 0 && x == 0 ? x : result;
}
template <int quarters>
double large_sine(double x) {
  if (x - x != 0) return not_a_number();
  return sin_or_cos(reduced_large_angle(x), quarters);
}

// Chooses between bits: which NaN an arithmetic operation gives is the compiler's choice.
inline double unless_negative(double x, double value) {
  constexpr std::uint64_t positive_nan = 0x7FF8000000000000;
  return __builtin_bit_cast(double,
                            x < 0 ? positive_nan : __builtin_bit_cast(std::uint64_t, value));
}

inline double square_root(double x) { return unless_negative(x, __builtin_sqrt(x)); }

inline double reciprocal_root(double x) {
  return unless_negative(x, x == 0 ? 1 / x : 1 / __builtin_sqrt(x));
}

// x^y: the logarithm in two doubles, times y, then exp.
inline double power_magnitude(double x, double y) {
  Logarithm l = logarithm(x);
  double lead = l.e * ln2_high, sum = lead + l.high;
  double lost = absolute(lead) > absolute(l.high) ? (lead - sum) + l.high : (l.high - sum) + lead;
  double low = lost + (l.low + l.e * ln2_low);
  double log_high = sum + low, log_low = (sum - log_high) + low;
  double log_cut = of_bits(bits_of(log_high) & 0xFFFFFFFFF8000000u);
  double y_cut = of_bits(bits_of(y) & 0xFFFFFFFFF8000000u), y_rest = y - y_cut;
  double log_rest = log_high - log_cut, product = log_high * y;
  double product_low = ((log_cut * y_cut - product) + log_cut * y_rest + log_rest * y_cut) +
                       log_rest * y_rest + log_low * y;
  bool in_range = absolute(product) < 800;
  return exp_of(product, in_range ? product_low : 0);
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
