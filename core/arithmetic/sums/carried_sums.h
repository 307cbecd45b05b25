#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

#include "core/tensor/dtype.h"

namespace simmesh {

// SumRange is a range of the terms or sums of an array.
struct SumRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

// CarriedSums are sums of floating terms, each of which is exact: no addition has rounded, whatever
// the magnitudes, so cancellation loses nothing. They are integers in digits at absolute positions,
// so that sums that were made apart, in any order and grouping, are added digit by digit; there are
// as many digits as the terms at hand need.
//
// Sum i = (digit 0 of i + digit 1 of i * 2^32 + ...) * 2^(32 * low) / divisor. Digits may be
// negative. Infinities and NaNs are kept beside the digits (see NonFiniteTerms) and decide the
// value of their sum.
//
// A value, immutable once it was made by DigitSums or of_digits.
class CarriedSums {
 public:
  // zeros returns a number of sums of no terms.
  static CarriedSums zeros(std::int64_t count);

  // of_digits takes carried digits, from position `low` on; those of sum i are digits[d * count +
  // i].
  static CarriedSums of_digits(std::vector<std::int32_t> digits, std::int64_t count, int low);

  std::int64_t count() const { return count_; }
  int low() const { return low_; }
  int digit_count() const { return count_ == 0 ? 0 : int(std::int64_t(digits_.size()) / count_); }
  const std::int32_t* digit(int d) const { return digits_.data() + d * count_; }
  std::int64_t divisor() const { return divisor_; }
  // non_finite is empty where all terms were finite.
  gsl::span<const std::int64_t> non_finite() const { return non_finite_; }

  // slice returns a range of the sums; taken returns those at the indices, in their order.
  CarriedSums slice(const SumRange& range) const;
  CarriedSums taken(gsl::span<const std::int64_t> indices) const;

  // shifted returns the sums times 2^(32 * digits); over returns the sums with another divisor in
  // place of theirs.
  CarriedSums shifted(int digits) const;
  CarriedSums over(std::int64_t divisor) const;

  // round writes the values, each rounded once to the dtype, ties to even. A sum of zero is +0.
  void round(std::byte* out, DType dtype) const;
  // rounded returns one value, rounded once to the dtype.
  double rounded(std::int64_t i, DType dtype) const;

  // Two of the same digits are equal; equal sums may have other digits.
  bool operator==(const CarriedSums&) const = default;

 private:
  friend class DigitSums;

  template <class T>
  void round_all(T* out) const;
  double odd_top(std::int64_t i) const;

  std::int64_t count_ = 0;
  int low_ = 0;
  std::vector<std::int32_t> digits_;  // digit d of sum i at d * count + i
  std::vector<std::int64_t> non_finite_;
  std::int64_t divisor_ = 1;
};

}  // namespace simmesh
