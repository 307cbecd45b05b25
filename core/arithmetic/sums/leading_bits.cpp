#include "core/arithmetic/sums/leading_bits.h"

#include <limits>

#include "core/arithmetic/sums/wide_rounding.h"

namespace simmesh {

namespace {

int width_of_signed(Int128 x) { return bit_width(x < 0 ? -UInt128(x) : UInt128(x)); }

// IntegerRoot is the square root of an integer, rounded down.
struct IntegerRoot {
  UInt128 root;
  bool is_exact;
};
IntegerRoot integer_root(UInt128 x) {
  UInt128 root = 0;
  for (UInt128 bit = UInt128(1) << 126; bit != 0; bit >>= 2) {
    bool fits = x >= root + bit;
    if (fits) x -= root + bit;
    root >>= 1;
    if (fits) root += bit;
  }
  return {root, x == 0};
}

// FloorQuotient is a positive quotient in 125 to 127 bits, rounded down.
struct FloorQuotient {
  UInt128 bits;
  int exponent;
  bool is_exact;
};
FloorQuotient floor_quotient(UInt128 numerator, int exponent, std::int64_t divisor) {
  int shift = 127 - bit_width(numerator);
  numerator <<= shift;
  exponent -= shift;
  if (divisor == 1) return {numerator, exponent, true};
  auto by = UInt128(std::uint64_t(divisor));
  UInt128 quotient = numerator / by, rest = numerator % by;
  int more = 126 - bit_width(quotient);
  UInt128 below = rest << more;
  return {(quotient << more) + below / by, exponent - more, below % by == 0};
}

}  // namespace

LeadingBits leading_bits(const SumDigits& sum) {
  int d = sum.count - 1;
  while (d >= 0 && sum[d] == 0) --d;
  LeadingBits leading{.exponent = 32 * (sum.low + d + 1), .divisor = sum.divisor};
  constexpr int widest_before = 93, wide_enough = 120;
  for (; d >= 0 && width_of_signed(leading.bits) <= widest_before; --d) {
    leading.bits = leading.bits * (Int128(1) << 32) + sum[d];
    leading.exponent -= 32;
  }
  if (int missing = wide_enough - width_of_signed(leading.bits); d >= 0 && missing > 0) {
    std::int64_t next = sum[d];
    std::int64_t cut = next >> (32 - missing);
    leading.bits = leading.bits * (Int128(1) << missing) + cut;
    leading.exponent -= missing;
    if (next != cut * (std::int64_t(1) << (32 - missing))) leading.rest_sign = 1;
    --d;
  }
  for (; leading.rest_sign == 0 && d >= 0; --d)
    if (sum[d] != 0) leading.rest_sign = sum[d] > 0 ? 1 : -1;
  return leading;
}

// A root of 62 bits or more that is odd in place of an inexact one is rounded as that would be.
double rounded_root(const LeadingBits& leading, DType dtype) {
  if (leading.bits == 0) return 0;
  if (leading.bits < 0) return std::numeric_limits<double>::quiet_NaN();
  UInt128 below = UInt128(leading.bits) - (leading.rest_sign < 0 ? 1 : 0);
  FloorQuotient quotient = floor_quotient(below, leading.exponent, leading.divisor);
  if ((quotient.exponent & 1) != 0) {
    quotient.is_exact = quotient.is_exact && (quotient.bits & 1) == 0;
    quotient.bits >>= 1;
    ++quotient.exponent;
  }
  IntegerRoot root = integer_root(quotient.bits);
  bool is_exact = root.is_exact && quotient.is_exact && leading.rest_sign == 0;
  auto odd = Int128(root.root | (is_exact ? 0 : 1));
  return rounded_quotient({.numerator = odd, .exponent = quotient.exponent / 2}, dtype);
}

}  // namespace simmesh
