#include "core/arithmetic/companions/exact_content.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/arithmetic/sums/non_finite_terms.h"
#include "core/check/check.h"
#include "core/kernels/instruction_set.h"

namespace simmesh {

namespace {

constexpr int digits_max = 32;

// Returns the range of bits of one sum and of the doubles near it.
DigitRange range_with_doubles(const CarriedSums& sums) {
  DigitRange own{sums.low(), sums.digit_count() + 1};
  return own.joined({DigitRange::whole().low, 1});
}

// Returns one sum less a double.
CarriedSums less_double(const CarriedSums& sum, double by) {
  DigitSums rest(1, range_with_doubles(sum));
  rest.add_sums(sum);
  rest.add(0, -by);
  return rest.take();
}

// Returns the pair by long subtraction: for the few sums that need it.
ExactPair long_pair_of(const CarriedSums& sum) {
  constexpr ExactPair none{.missed = 1};
  double high = sum.rounded(0, DType::float64);
  if (high - high != 0) return none;
  CarriedSums rest = less_double(sum, high);
  double low = rest.rounded(0, DType::float64);
  if (less_double(rest, low).digit_count() != 0) return none;
  return {high, low, 0};
}

// Returns the numerator over a divisor of one sum over it that is rounded to float64. Where that is
// next to 0 or to infinity the numerator may be the nearest double.
ExactPair rounded_numerator(const CarriedSums& sum, std::int64_t divisor) {
  double value = sum.over(divisor).rounded(0, DType::float64);
  if (divisor == 1) return {value};
  DigitSums product(1, DigitRange::whole());
  product.add_product(0, value, double(divisor));
  CarriedSums numerator = product.take();
  ExactPair pair = numerator.non_finite().empty() ? pair_of(numerator, 0) : ExactPair{.missed = 1};
  return pair.is_exact() ? pair : ExactPair{value * double(divisor)};
}

// Returns 2^exponent, a normal double.
double power_of_two(int exponent) {
  constexpr int bias = 1023, fraction_bits = 52;
  return std::bit_cast<double>(std::uint64_t(exponent + bias) << fraction_bits);
}

// True if the digits of one sum are few enough, and where those of products are.
bool is_kept(const CarriedSums& sums, std::int64_t i, const DigitRange& products) {
  int last = sums.digit_count() - 1, first = 0;
  while (last >= 0 && sums.digit(last)[i] == 0) --last;
  while (first < last && sums.digit(first)[i] == 0) ++first;
  return last - first < digits_max && sums.low() + first >= products.low &&
         sums.low() + last < products.low + products.count - 2;
}

}  // namespace

// Where the digits have three doubles and more, or where the first of these depends on the last
// one, the pair is found by long subtraction, if there can be one.
ExactPair pair_of(const CarriedSums& sums, std::int64_t i) {
  constexpr int least = -1022, most = 960;
  bool is_near = 32 * sums.low() >= least && 32 * (sums.low() + sums.digit_count()) <= most;
  if (!is_near) return long_pair_of(sums.slice({i, 1}));
  double high = 0, low = 0, rest = 0;
  for (int d = sums.digit_count() - 1; d >= 0; --d) {
    std::int32_t digit = sums.digit(d)[i];
    if (digit == 0) continue;
    TwoSum upper = TwoSum::of(high, double(digit) * power_of_two(32 * (sums.low() + d)));
    TwoSum lower = TwoSum::of(low, upper.rest);
    TwoSum last = TwoSum::of(rest, lower.rest);
    if (last.rest != 0) return {.missed = 1};  // every sum of first digits has three doubles
    TwoSum first = TwoSum::of(upper.sum, lower.sum);
    high = first.sum;
    low = first.rest;
    rest = last.sum;
  }
  TwoSum second = TwoSum::of(low, rest), first = TwoSum::of(high, second.sum);
  TwoSum third = TwoSum::of(first.rest, second.rest);
  if (third.rest == 0) {
    TwoSum pair = TwoSum::of(first.sum, third.sum);
    return {pair.sum + 0.0, pair.rest, 0};
  }
  bool is_near_tie = first.sum + third.sum * (1 + 0x1p-50) != first.sum;
  return is_near_tie ? long_pair_of(sums.slice({i, 1})) : ExactPair{.missed = 1};
}

void BitRange::add(double x) {
  constexpr int least = -1074, precision = 53, exponent_bits = 52, bias = 1022;
  auto field = int(std::bit_cast<std::uint64_t>(x) >> exponent_bits & 0x7FF);
  if (x == 0 || field == 0x7FF) return;
  int exponent = field == 0 ? least + precision : field - bias;  // a subnormal is below 2^-1021
  lowest_ = std::min(lowest_, std::max(exponent - precision, least));
  highest_ = std::max(highest_, exponent);
}

DigitRange BitRange::digits(std::int64_t terms) const {
  return lowest_ > highest_ ? DigitRange() : DigitRange::of_bits(lowest_, highest_, terms);
}

CarriedSums joined_digits(gsl::span<const CarriedSums> parts) {
  std::optional<DigitRange> range;
  std::int64_t count = 0, first = 0;
  for (const CarriedSums& part : parts) {
    DigitRange own{part.low(), part.digit_count()};
    range = range ? range->joined(own) : own;
    count += part.count();
  }
  DigitSums all(count, range.value_or(DigitRange()));
  for (const CarriedSums& part : parts) {
    all.add_sums(part, first);
    first += part.count();
  }
  return all.take();
}

void ExactContent::drop_zero_lows() {
  if (std::all_of(low.begin(), low.end(), [](double x) { return x == 0; })) low.clear();
}

void ExactContent::fill_with(const CarriedSums& sums) {
  constexpr int least = -900, most = 900;
  int digits = sums.digit_count(), low_bit = 32 * sums.low();
  bool is_near = low_bit >= least && low_bit + 32 * digits <= most;
  std::vector<std::int64_t> inexact;
  if (is_near && digits > 0 && sums.non_finite().empty()) {
    std::vector<double> weights;
    for (int d = 0; d < digits; ++d) weights.push_back(std::ldexp(1.0, low_bit + 32 * d));
    auto* kernel = kernels_of(best_instruction_set()).pairs_of_digits;
    inexact = fill_blocks([&](std::int64_t begin, const PairBlock& block) {
      return kernel({sums.digit(0) + begin, sums.count(), digits, weights.data()}, block);
    });
  } else {
    high.assign(std::size_t(count), 0);
    inexact.resize(std::size_t(count));
    std::iota(inexact.begin(), inexact.end(), 0);
  }
  if (!inexact.empty()) settle(inexact, sums.taken(inexact));
}

DigitRange ExactContent::range_at(gsl::span<const std::int64_t> places) const {
  BitRange bits;
  for (std::int64_t i : places) {
    bits.add(high[std::size_t(i)]);
    if (!low.empty()) bits.add(low[std::size_t(i)]);
  }
  DigitRange range = bits.digits(2);
  return wide_places.empty() ? range : range.joined({wide.low(), wide.digit_count() + 1});
}

void ExactContent::add_at(gsl::span<const std::int64_t> places, DigitSums& sums) const {
  auto found = wide_places.begin();
  for (std::size_t k = 0; k < places.size(); ++k) {
    auto i = std::size_t(places[k]);
    sums.add(std::int64_t(k), high[i]);
    if (!low.empty() && low[i] != 0) sums.add(std::int64_t(k), low[i]);
    if (wide_places.empty()) continue;
    if (found == wide_places.end() || *found > places[k]) found = wide_places.begin();
    if (*found < places[k]) found = std::lower_bound(found, wide_places.end(), places[k]);
    if (found != wide_places.end() && *found == places[k])
      sums.add_digits(std::int64_t(k), digits_of(wide, found - wide_places.begin()));
  }
}

CarriedSums ExactContent::digits_at(gsl::span<const std::int64_t> places) const {
  DigitSums sums(std::int64_t(places.size()), range_at(places));
  add_at(places, sums);
  return sums.take();
}

CarriedSums ExactContent::digits() const {
  BitRange bits;
  for (double x : high) bits.add(x);
  for (double x : low) bits.add(x);
  DigitRange range = bits.digits(2);
  if (!wide_places.empty()) range = range.joined({wide.low(), wide.digit_count() + 1});
  DigitSums sums(count, range);
  sums.add_terms(high);
  if (!low.empty()) sums.add_terms(low);
  for (std::size_t k = 0; k < wide_places.size(); ++k)
    sums.add_digits(wide_places[k], digits_of(wide, std::int64_t(k)));
  return sums.take();
}

void ExactContent::settle(gsl::span<const std::int64_t> places, const CarriedSums& sums) {
  SIMMESH_CHECK(wide_places.empty(), "wide places beside those that are settled");
  SIMMESH_CHECK(sums.divisor() == 1, "sums over {} settled", sums.divisor());
  if (low.empty()) low.resize(std::size_t(count), 0);
  const DigitRange products = DigitRange::whole();
  std::vector<std::int64_t> kept;
  for (std::size_t k = 0; k < places.size(); ++k) {
    auto i = std::size_t(places[k]);
    auto set = [&](const ExactPair& pair) {
      high[i] = pair.high;
      low[i] = pair.low;
    };
    if (!sums.non_finite().empty() && sums.non_finite()[k] != 0) {
      set({NonFiniteTerms::value(sums.non_finite()[k])});
      continue;
    }
    ExactPair pair = pair_of(sums, std::int64_t(k));
    if (pair.is_exact()) {
      set(pair);
      continue;
    }
    if (!is_kept(sums, std::int64_t(k), products)) {
      set(rounded_numerator(sums.slice({std::int64_t(k), 1}), divisor));
      continue;
    }
    kept.push_back(std::int64_t(k));
    wide_places.push_back(places[k]);
    set({});
  }
  if (!kept.empty()) wide = sums.taken(kept);
  drop_zero_lows();
}

}  // namespace simmesh
