#include "core/arithmetic/sums/wide_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check/check.h"

namespace simmesh {

namespace {

struct Format {
  int precision;
  int lowest_exponent;  // of the last bit of a subnormal
  double largest;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return {53, -1074, std::numeric_limits<double>::max()};
    case DType::float32: return {24, -149, double(std::numeric_limits<float>::max())};
    case DType::bfloat16: return {8, -133, 0x1.FEp127};
    case DType::float16: return {11, -24, 65504};
    default: SIMMESH_CHECK(false, "no floating dtype: {}", to_string(dtype));
  }
}

}  // namespace

double rounded_quotient(const WideQuotient& quotient, DType dtype) {
  if (quotient.numerator == 0) return 0;
  bool negative = quotient.numerator < 0;
  UInt128 magnitude = negative ? -UInt128(quotient.numerator) : UInt128(quotient.numerator);
  auto divisor = UInt128(std::uint64_t(quotient.divisor));
  int exponent = quotient.exponent;
  bool inexact = false;
  if (quotient.divisor != 1) {
    int shift = 127 - bit_width(magnitude);
    magnitude <<= shift;
    exponent -= shift;
    inexact = magnitude % divisor != 0;
    magnitude /= divisor;
  }
  Format format = format_of(dtype);
  int width = bit_width(magnitude);
  int last = std::max(exponent + width - format.precision, format.lowest_exponent);
  int dropped = last - exponent;
  double rounded = 0;
  if (dropped <= 0) {
    // All bits fit, so nothing was divided off: a quotient has more than 64 bits.
    rounded = std::ldexp(double(std::uint64_t(magnitude)), exponent);
  } else if (dropped <= width + 1 && dropped < 128) {
    UInt128 kept = magnitude >> dropped;
    UInt128 rest = magnitude - (kept << dropped);
    UInt128 half = UInt128(1) << (dropped - 1);
    bool up = rest > half || (rest == half && (inexact || (kept & 1)));
    rounded = std::ldexp(double(std::uint64_t(kept) + (up ? 1 : 0)), last);
  }
  if (rounded > format.largest) rounded = std::numeric_limits<double>::infinity();
  return negative ? -rounded : rounded;
}

}  // namespace simmesh
