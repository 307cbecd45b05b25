#include "core/arithmetic/sums/carried_sums.h"

#include <algorithm>
#include <cmath>

#include "core/arithmetic/sums/leading_bits.h"
#include "core/arithmetic/sums/non_finite_terms.h"
#include "core/arithmetic/sums/rounding.h"
#include "core/arithmetic/sums/triple_sum.h"
#include "core/arithmetic/sums/wide_rounding.h"
#include "core/check/check.h"

namespace simmesh {

namespace {

TwoSum three_digits(std::int32_t high, std::int32_t middle, std::int32_t low) {
  TwoSum upper = TwoSum::of(double(high) * 0x1p64, double(middle) * 0x1p32);
  TwoSum all = TwoSum::of(upper.sum, double(low));
  return TwoSum::of(all.sum, upper.rest + all.rest);
}

// Returns k if it is odd, else the odd integer that stands for a value strictly between k and the
// next integer, above or below.
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

CarriedSums CarriedSums::shifted(int digits) const {
  CarriedSums result = *this;
  result.low_ += digits;
  return result;
}

CarriedSums CarriedSums::over(std::int64_t divisor) const {
  CarriedSums result = *this;
  result.divisor_ = divisor;
  return result;
}

double CarriedSums::rounded(std::int64_t i, DType dtype) const {
  if (!non_finite_.empty() && non_finite_[std::size_t(i)] != 0)
    return NonFiniteTerms::value(non_finite_[std::size_t(i)]);
  const auto* digits = digits_.empty() ? nullptr : digits_.data() + i;
  LeadingBits leading = leading_bits({digits, count_, digit_count(), low_, divisor_});
  Int128 numerator = leading.bits;
  if (leading.rest_sign != 0) numerator = odd_beside(numerator, leading.rest_sign > 0);
  return rounded_quotient(
      {.numerator = numerator, .exponent = leading.exponent, .divisor = divisor_}, dtype);
}

// Three digits are two doubles; digits below only say on which side of these a sum is. A quotient
// in double is off by less than its last bit, on the side that its remainder says.
template <class T>
void CarriedSums::round_all(T* out) const {
  constexpr int scale_max = 800;
  double scale = std::ldexp(1.0, std::clamp(32 * low_, -scale_max, scale_max));
  // A small divisor's remainder is no larger than what the digits below add to it. A double is
  // rounded at once, so the remainder must be known in full.
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
