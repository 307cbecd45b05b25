#pragma once

#include <bit>
#include <cstdint>

#include "core/check/int128.h"
#include "core/tensor/dtype.h"

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

}  // namespace simmesh
