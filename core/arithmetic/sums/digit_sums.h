#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

#include "core/arithmetic/sums/carried_sums.h"
#include "core/arithmetic/sums/leading_bits.h"
#include "core/check/int128.h"

namespace simmesh {

// DigitRange says which digits of 32 bits sums need: from the one that holds the lowest bit of any
// term to the one that holds the sign of any sum.
struct DigitRange {
  int low = 0;
  int count = 1;

  // of_bits covers terms that are multiples of 2^lowest and below 2^highest in magnitude, of which
  // at most `terms` are added.
  static DigitRange of_bits(int lowest, int highest, std::int64_t terms);
  // whole covers all products of two doubles, and so all doubles.
  static DigitRange whole();
  // covers both.
  DigitRange joined(const DigitRange& other) const;
};

// DigitSums are count sums that terms are being added to, exactly: the long accumulators of exact
// arithmetic. Terms must lie within the range of digits.
//
//   DigitSums sums(n, DigitRange::whole());
//   sums.add(i, 1e20); sums.add(i, 1e-3); sums.add_product(i, 3e-200, 7e-200);
//   CarriedSums exact = sums.take();
class DigitSums {
 public:
  DigitSums(std::int64_t count, const DigitRange& range);

  std::int64_t count() const { return count_; }

  // add adds a term to sum i. An infinity or NaN is counted.
  void add(std::int64_t i, double term);
  // add_terms adds a term a place, from `first` on.
  void add_terms(gsl::span<const double> terms, std::int64_t first = 0);
  // add_product adds a * b, exactly.
  void add_product(std::int64_t i, double a, double b);
  // add_integer adds k * 2^exponent, |k| < 2^126.
  void add_integer(std::int64_t i, Int128 k, int exponent);
  // add_sums adds one sum a place, from `first` on. The divisors must be 1.
  void add_sums(const CarriedSums& sums, std::int64_t first = 0);
  // add_digits adds one sum over 1, and add_product the product of two.
  void add_digits(std::int64_t i, const SumDigits& digits);
  void add_product(std::int64_t i, const SumDigits& a, const SumDigits& b);
  // add_non_finite counts terms that aren't finite.
  void add_non_finite(std::int64_t i, std::int64_t terms);

  // take returns the sums over a divisor, with no more digits than they need, and sets all of them
  // to zero.
  CarriedSums take(std::int64_t divisor = 1);

 private:
  void make_room(std::int64_t terms);
  void carry();
  std::int64_t* digits_at(int digit) { return digits_.data() + std::int64_t(digit) * count_; }

  std::int64_t count_;
  DigitRange range_;
  std::vector<std::int64_t> digits_;
  std::vector<std::int64_t> non_finite_;
  std::int64_t since_carry_ = 0;
};

// carried_terms takes each of count elements, contiguous and of a floating dtype, as a sum of one
// term.
CarriedSums carried_terms(const std::byte* data, DType dtype, std::int64_t count);

// exact_dot returns a[0] * b[0] + a[1] * b[1] + ..., rounded once to the dtype: for the few
// elements that no faster way settles. Strides are in elements.
struct DoubleLine {
  const double* data;
  std::int64_t stride;
};
double exact_dot(const DoubleLine& a, const DoubleLine& b, std::int64_t count, DType dtype);

}  // namespace simmesh
