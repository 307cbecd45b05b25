#pragma once

#include <bit>
#include <cstdint>

#include <simmesh/core/check/int128.h>
#include <simmesh/core/tensor/dtype.h>

namespace simmesh {

// WideQuotient is numerator * 2^exponent / divisor, with |numerator| < 2^126 and 0 < divisor <=
// 2^53. A numerator of 115 bits or more may be odd in place of an inexact one.
struct WideQuotient {
  Int128 numerator = 0;
  int exponent = 0;
  std::int64_t divisor = 1;
};

// rounded_quotient rounds a quotient once to a floating dtype, ties to even, and returns it as a
// double; subnormal results and overflow to infinity are those of the dtype. 0 gives +0.
double rounded_quotient(const WideQuotient& quotient, DType dtype);

// int64_to_double converts k with one rounding, in operations that compilers turn into vector code.
inline double int64_to_double(std::int64_t k) {
  auto bits = static_cast<std::uint64_t>(k);
  constexpr std::uint64_t low_mask = (std::uint64_t(1) << 48) - 1;
  std::uint64_t low = (bits & low_mask) | 0x4330000000000000u;                      // 2^52 + low
  std::uint64_t high = ((bits ^ 0x8000000000000000u) >> 48) | 0x4630000000000000u;  // 2^100 + ...
  constexpr double excess = 0x1p100 + 0x1p63 + 0x1p52;
  return (std::bit_cast<double>(high) - excess) + std::bit_cast<double>(low);
}

// odd_int64_to_double is int64_to_double rounded to odd, to 42 bits or more: a further rounding to
// float32 or a 16-bit dtype gives what rounding k once gives.
inline double odd_int64_to_double(std::int64_t k) {
  constexpr std::int64_t dropped = 0x7FF, exact_max = std::int64_t(1) << 52;
  std::int64_t odd = (k | ((k & dropped) + dropped)) & ~dropped;
  bool exact = std::uint64_t(k) + std::uint64_t(exact_max) <= 2 * std::uint64_t(exact_max);
  return int64_to_double(exact ? k : odd);
}

}  // namespace simmesh
