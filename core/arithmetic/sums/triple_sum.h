#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "core/tensor/dtype.h"

namespace simmesh {

// TwoSum is a + b as the nearest double and the error of that, exactly, for doubles whose sum
// doesn't overflow (Knuth).
struct TwoSum {
  double sum, rest;

  static TwoSum of(double a, double b) {
    double sum = a + b, back = sum - a;
    return {sum, (a - (sum - back)) + (b - back)};
  }
};

// odd_double_of returns, for an inexact sum, the neighbouring double whose last bit is set:
// rounding it to a narrower dtype is the same as rounding the sum. Only the sign of the rest
// matters.
inline double odd_double_of(const TwoSum& x) {
  auto bits = std::bit_cast<std::uint64_t>(x.sum);
  bool is_odd = x.rest == 0 || (bits & 1) != 0;
  std::uint64_t beside = (x.rest > 0) == (x.sum > 0) ? bits + 1 : bits - 1;
  return std::bit_cast<double>(is_odd ? bits : beside);
}

// TripleSum is a sum of doubles in about 106 bits that knows its error bound, so that nearly all
// sums can be rounded correctly without a longer accumulator.
//
//   TripleSum sum;
//   sum.add(1e20); sum.add(-1e20); sum.add(1e-3);
//   std::optional<double> rounded = sum.rounded(DType::float32);  // 1e-3, rounded once
class TripleSum {
 public:
  TripleSum() = default;
  // Takes the numbers that the kernels found (see TripleLines).
  TripleSum(double high, double low, double missed) : high_(high), low_(low), missed_(missed) {}

  void add(double term) {
    TwoSum high = TwoSum::of(high_, term);
    TwoSum low = TwoSum::of(low_, high.rest);
    high_ = high.sum;
    low_ = low.sum;
    missed_ += low.rest < 0 ? -low.rest : low.rest;
  }

  // rounded returns the sum rounded once to the dtype, ties to even; a sum of zero is +0. Empty
  // where the sum isn't known well enough, or a term or a partial sum wasn't finite.
  std::optional<double> rounded(DType dtype) const;

  // exact returns the sum as two doubles, where it fits into them.
  std::optional<TwoSum> exact() const;

 private:
  double high_ = 0, low_ = 0;
  double missed_ = 0;  // bounds what high + low misses, but for roundings of its own
};

// rounded_pair returns a + b rounded once to the dtype, ties to even; a sum of zero is +0.
double rounded_pair(double a, double b, DType dtype);

}  // namespace simmesh
