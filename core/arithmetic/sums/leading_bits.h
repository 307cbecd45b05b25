#pragma once

#include <cstdint>

#include "core/check/int128.h"
#include "core/tensor/dtype.h"

namespace simmesh {

// SumDigits are the digits of one sum: (digit 0 + digit 1 * 2^32 + ...) * 2^(32 * low) / divisor.
// Digit d is digits[d * stride].
struct SumDigits {
  const std::int32_t* digits = nullptr;
  std::int64_t stride = 1;
  int count = 0;
  int low = 0;
  std::int64_t divisor = 1;

  std::int32_t operator[](int d) const { return digits[d * stride]; }
};

// LeadingBits are the highest bits of one sum: (bits + a rest of the sign rest_sign that is less
// than 1) * 2^exponent / divisor. Where rest_sign is not 0, bits has at least
// 120 bits.
struct LeadingBits {
  Int128 bits = 0;
  int exponent = 0;
  int rest_sign = 0;
  std::int64_t divisor = 1;
};

// leading_bits returns those of a sum. They settle every rounding of it.
LeadingBits leading_bits(const SumDigits& sum);

// rounded_root returns the square root, rounded once to a floating dtype, ties to even; NaN for a
// negative sum, and +0 for 0.
double rounded_root(const LeadingBits& leading, DType dtype);

}  // namespace simmesh
