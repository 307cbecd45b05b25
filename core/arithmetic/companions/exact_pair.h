#pragma once

#include <cmath>

#include "core/arithmetic/sums/triple_sum.h"

namespace simmesh {

// ExactPair is a value as the nearest double and the rest, which is a double too. missed is 0 where
// the value is that; it is another number, or a NaN, where the value isn't finite, or would need
// more bits.
struct ExactPair {
  double high = 0;
  double low = 0;
  double missed = 0;

  bool is_exact() const { return missed == 0; }
};

// added returns x + term. Zeros are +0.
inline ExactPair added(const ExactPair& x, double term) {
  TwoSum upper = TwoSum::of(x.high, term);
  TwoSum lower = TwoSum::of(x.low, upper.rest);
  TwoSum all = TwoSum::of(upper.sum, lower.sum);
  return {all.sum + 0.0, all.rest, x.missed + std::fabs(lower.rest) + (all.rest - all.rest)};
}

// multiplied returns a * b. Products that are small, but not zero, may need bits below a double's.
inline ExactPair multiplied(double a, double b) {
  constexpr double least = 0x1p-900;
  double high = a * b, low = std::fma(a, b, -high);
  bool is_zero = high == 0 && (a == 0 || b == 0);
  double missed = is_zero || std::fabs(high) >= least ? high - high : 1;
  return {high + 0.0, low, missed};
}

}  // namespace simmesh
