#include "core/arithmetic/carried_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/arithmetic/digit_sums.h"
#include "core/arithmetic/non_finite_terms.h"
#include "core/arithmetic/rounding.h"
#include "core/arithmetic/triple_sum.h"
#include "core/arithmetic/wide_rounding.h"
#include "core/check/check.h"

namespace simmesh {

namespace {

constexpr std::int64_t divisor_max = std::int64_t(1) << 53;

// factor = odd * 2^exponent.
struct OddFactor {
  std::int64_t odd;
  int exponent;
};
OddFactor odd_factor(double factor) {
  int exponent = 0;
  auto mantissa = std::int64_t(std::ldexp(std::frexp(factor, &exponent), 53));
  if (mantissa == 0) return {0, 0};
  int zeros = std::countr_zero(std::uint64_t(mantissa));
  return {mantissa >> zeros, exponent - 53 + zeros};
}

// The bits that finite terms other than 0 take up.
template <class T>
DigitRange range_of(const T* terms, std::int64_t count) {
  constexpr int fraction_bits = std::is_same_v<T, double> ? 52 : 23;
  int lowest = 2000, highest = -2000;
  for (std::int64_t i = 0; i < count; ++i) {
    double x = widened(terms[i]);
    if (x == 0 || x - x != 0) continue;
    int exponent = std::ilogb(x);
    lowest = std::min(lowest, exponent - fraction_bits);
    highest = std::max(highest, exponent + 1);
  }
  return lowest > highest ? DigitRange() : DigitRange::of_bits(lowest, highest, 1);
}

int width_of(Int128 x) { return bit_width(x < 0 ? -UInt128(x) : UInt128(x)); }

TwoSum three_digits(std::int32_t high, std::int32_t middle, std::int32_t low) {
  TwoSum upper = TwoSum::of(double(high) * 0x1p64, double(middle) * 0x1p32);
  TwoSum all = TwoSum::of(upper.sum, double(low));
  return TwoSum::of(all.sum, upper.rest + all.rest);
}

// Odd in place of what lies strictly between k and the next integer, above or below.
Int128 odd_beside(Int128 k, bool above) { return (k & 1) != 0 ? k : above ? k + 1 : k - 1; }

}  // namespace

CarriedSums CarriedSums::zeros(std::int64_t count) {
  CarriedSums result;
  result.count_ = count;
  return result;
}

CarriedSums CarriedSums::of_digits(std::vector<std::int32_t> digits, std::int64_t count, int low) {
  CarriedSums result = zeros(count);
  result.low_ = low;
  result.digits_ = std::move(digits);
  return result;
}

CarriedSums CarriedSums::of(const std::byte* data, DType dtype, std::int64_t count) {
  return visit_dtype(dtype, [&]<class T>(T) -> CarriedSums {
    if constexpr (std::is_integral_v<T>) {
      SIMMESH_CHECK(false, "carried sums of {}", to_string(dtype));
    } else {
      const T* terms = reinterpret_cast<const T*>(data);
      DigitSums sums(count, range_of(terms, count));
      for (std::int64_t i = 0; i < count; ++i) sums.add(i, widened(terms[i]));
      return sums.take();
    }
  });
}

CarriedSums CarriedSums::slice(const SumRange& range) const {
  if (range.begin == 0 && range.count == count_) return *this;
  CarriedSums result = zeros(range.count);
  result.low_ = low_;
  result.divisor_ = divisor_;
  for (int d = 0; d < digit_count(); ++d)
    result.digits_.insert(result.digits_.end(), digit(d) + range.begin,
                          digit(d) + range.begin + range.count);
  if (!non_finite_.empty()) {
    auto begin = non_finite_.begin() + range.begin;
    result.non_finite_.assign(begin, begin + range.count);
  }
  return result;
}

CarriedSums CarriedSums::taken(gsl::span<const std::int64_t> indices) const {
  CarriedSums result = zeros(std::int64_t(indices.size()));
  result.low_ = low_;
  result.divisor_ = divisor_;
  result.digits_.reserve(indices.size() * std::size_t(digit_count()));
  for (int d = 0; d < digit_count(); ++d)
    for (std::int64_t i : indices) result.digits_.push_back(digit(d)[i]);
  if (!non_finite_.empty())
    for (std::int64_t i : indices) result.non_finite_.push_back(non_finite_[std::size_t(i)]);
  return result;
}

// An infinity stays what it is but for its sign.
CarriedSums CarriedSums::scaled(double factor) const {
  SIMMESH_CHECK(factor - factor == 0, "sums scaled by {}", factor);
  OddFactor by = odd_factor(factor);
  CarriedSums result;
  if (by.odd == 1 && by.exponent % 32 == 0) {
    result = *this;
    result.low_ += by.exponent / 32;
    return result;
  }
  int lowest = 32 * low_ + by.exponent;
  DigitSums sums(count_, DigitRange::of_bits(lowest, lowest + 32 * digit_count() + 54, 1));
  for (int d = 0; d < digit_count(); ++d)
    for (std::int64_t i = 0; i < count_; ++i)
      sums.add_integer(i, Int128(digit(d)[i]) * by.odd, 32 * (low_ + d) + by.exponent);
  for (std::size_t i = 0; i < non_finite_.size(); ++i)
    if (non_finite_[i] != 0)
      sums.add_non_finite(std::int64_t(i),
                          NonFiniteTerms::of(NonFiniteTerms::value(non_finite_[i]) * factor));
  return sums.take(divisor_);
}

bool CarriedSums::can_be_divided(double divisor) const {
  std::int64_t odd = std::abs(odd_factor(divisor).odd);
  return odd != 0 && divisor - divisor == 0 && odd <= divisor_max / divisor_;
}

CarriedSums CarriedSums::divided(double divisor) const {
  SIMMESH_CHECK(can_be_divided(divisor), "sums over {} divided by {}", divisor_, divisor);
  OddFactor by = odd_factor(divisor);
  CarriedSums result = scaled(std::ldexp(by.odd < 0 ? -1.0 : 1.0, -by.exponent));
  result.divisor_ = divisor_ * std::abs(by.odd);
  return result;
}

CarriedSums CarriedSums::over_one(std::int64_t multiple) const {
  std::int64_t factor = multiple / divisor_;
  CarriedSums result = scaled(double(factor));
  result.divisor_ = 1;
  return result;
}

double CarriedSums::rounded(std::int64_t i, DType dtype) const {
  if (!non_finite_.empty() && non_finite_[std::size_t(i)] != 0)
    return NonFiniteTerms::value(non_finite_[std::size_t(i)]);
  int d = digit_count() - 1;
  while (d >= 0 && digit(d)[i] == 0) --d;
  if (d < 0) return 0;
  // Of the highest digits so many that a quotient is settled by them and whether there is more.
  constexpr int widest_before = 93, wide_enough = 120;
  Int128 highest = 0;
  int exponent = 32 * (low_ + d + 1);
  for (; d >= 0 && width_of(highest) <= widest_before; --d) {
    highest = highest * (Int128(1) << 32) + digit(d)[i];
    exponent -= 32;
  }
  int rest_sign = 0;
  if (int missing = wide_enough - width_of(highest); d >= 0 && missing > 0) {
    std::int64_t next = digit(d)[i];
    std::int64_t cut = next >> (32 - missing);
    highest = highest * (Int128(1) << missing) + cut;
    exponent -= missing;
    if (next != cut * (std::int64_t(1) << (32 - missing))) rest_sign = 1;
    --d;
  }
  for (; rest_sign == 0 && d >= 0; --d)
    if (digit(d)[i] != 0) rest_sign = digit(d)[i] > 0 ? 1 : -1;
  if (rest_sign != 0) highest = odd_beside(highest, rest_sign > 0);
  return rounded_quotient({.numerator = highest, .exponent = exponent, .divisor = divisor_}, dtype);
}

// Three digits are two doubles; digits below only say on which side of these a sum lies. A quotient
// in double is off by less than its last bit, on the side that its remainder says.
template <class T>
void CarriedSums::round_all(T* out) const {
  constexpr int scale_max = 800;
  double scale = std::ldexp(1.0, std::clamp(32 * low_, -scale_max, scale_max));
  // The remainder of a small divisor is no less than what the digits below add to it; a double is
  // rounded at once, so it must be known in full.
  constexpr std::int64_t small_divisor = 1024;
  bool is_double = std::is_same_v<T, double>, is_short = digit_count() <= 3;
  bool is_quick = non_finite_.empty() && 32 * low_ > -scale_max &&
                  32 * (low_ + digit_count()) < scale_max &&
                  (is_double ? is_short && divisor_ == 1 : is_short || divisor_ <= small_divisor);
  if (!is_quick) {
    for (std::int64_t i = 0; i < count_; ++i) out[i] = rounded_to<T>(rounded(i, dtype_of<T>));
  } else if (divisor_ != 1 || digit_count() > 3) {
    for (std::int64_t i = 0; i < count_; ++i) out[i] = rounded_to<T>(odd_top(i) * scale);
  } else {
    const std::int32_t* digits[3] = {nullptr, nullptr, nullptr};
    for (int d = 0; d < digit_count(); ++d) digits[d] = digit(d);
    std::int32_t zero = 0;
    std::int64_t steps[3] = {digits[0] ? 1 : 0, digits[1] ? 1 : 0, digits[2] ? 1 : 0};
    for (const std::int32_t*& place : digits)
      if (!place) place = &zero;
    for (std::int64_t i = 0; i < count_; ++i) {
      TwoSum sum =
          three_digits(digits[2][i * steps[2]], digits[1][i * steps[1]], digits[0][i * steps[0]]);
      out[i] = rounded_to<T>((is_double ? sum.sum : odd_double_of(sum)) * scale);
    }
  }
}

// In units of the lowest digit.
double CarriedSums::odd_top(std::int64_t i) const {
  int d = digit_count() - 1;
  while (d > 2 && digit(d)[i] == 0) --d;
  int unit = std::max(d - 2, 0);
  auto at = [&](int place) { return place <= d ? digit(place)[i] : 0; };
  TwoSum sum = three_digits(at(unit + 2), at(unit + 1), at(unit));
  int side = 0;
  for (int below = unit - 1; side == 0 && below >= 0; --below) side = digit(below)[i];
  if (divisor_ != 1) {
    double divisor = double(divisor_), quotient = sum.sum / divisor;
    sum = {quotient, std::fma(-quotient, divisor, sum.sum) + sum.rest};
  }
  if (sum.rest == 0) sum.rest = side;
  return std::ldexp(odd_double_of(sum), 32 * unit);
}

void CarriedSums::round(std::byte* out, DType dtype) const {
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      SIMMESH_CHECK(false, "carried sums rounded to {}", to_string(dtype));
    else
      round_all(reinterpret_cast<T*>(out));
  });
}

}  // namespace simmesh
