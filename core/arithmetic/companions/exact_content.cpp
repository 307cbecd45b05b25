#include "core/arithmetic/companions/exact_content.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/arithmetic/sums/non_finite_terms.h"
#include "core/check/check.h"

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

// True if the digits of one sum are few enough, and where those of products are.
bool is_kept(const CarriedSums& sums, std::int64_t i) {
  int last = sums.digit_count() - 1, first = 0;
  while (last >= 0 && sums.digit(last)[i] == 0) --last;
  while (first < last && sums.digit(first)[i] == 0) ++first;
  DigitRange products = DigitRange::whole();
  return last - first < digits_max && sums.low() + first >= products.low &&
         sums.low() + last < products.low + products.count - 2;
}

}  // namespace

ExactPair pair_of(const CarriedSums& sums, std::int64_t i) {
  constexpr int least = -1022, most = 960;
  bool is_near = 32 * sums.low() >= least && 32 * (sums.low() + sums.digit_count()) <= most;
  if (is_near) {
    ExactPair pair;
    for (int d = sums.digit_count() - 1; d >= 0; --d)
      if (std::int32_t digit = sums.digit(d)[i]; digit != 0)
        pair = added(pair, std::ldexp(double(digit), 32 * (sums.low() + d)));
    if (pair.is_exact()) return pair;
  }
  return long_pair_of(sums.slice({i, 1}));
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

// The top three digits are a pair, without a test: the rests of both sums are integers of few bits.
// Most sums have no more than one digit besides.
void ExactContent::fill_with(const CarriedSums& sums) {
  constexpr int least = -900, most = 900;
  int digits = sums.digit_count(), low_bit = 32 * sums.low();
  bool is_near = low_bit >= least && low_bit + 32 * digits <= most;
  std::vector<std::int64_t> inexact;
  if (is_near && digits > 0 && sums.non_finite().empty()) {
    std::vector<double> weights;
    for (int d = 0; d < digits; ++d) weights.push_back(std::ldexp(1.0, low_bit + 32 * d));
    const std::int32_t* digit[3];
    double weight[3];
    for (int k = 0; k < 3; ++k) {
      int d = digits - 1 - k;
      digit[k] = sums.digit(std::max(d, 0));
      weight[k] = d >= 0 ? weights[std::size_t(d)] : 0;
    }
    auto three = [=](std::int64_t i) {
      TwoSum upper = TwoSum::of(digit[0][i] * weight[0], digit[1][i] * weight[1]);
      TwoSum all = TwoSum::of(upper.sum, digit[2][i] * weight[2]);
      TwoSum pair = TwoSum::of(all.sum, upper.rest + all.rest);
      return ExactPair{pair.sum + 0.0, pair.rest, 0};
    };
    if (digits <= 3)
      inexact = fill(three);
    else
      inexact = fill([&](std::int64_t i) {
        ExactPair pair = three(i);
        for (int d = digits - 4; d >= 0; --d)
          pair = added(pair, sums.digit(d)[i] * weights[std::size_t(d)]);
        return pair;
      });
  } else {
    high.assign(std::size_t(count), 0);
    inexact.resize(std::size_t(count));
    std::iota(inexact.begin(), inexact.end(), 0);
  }
  if (!inexact.empty()) settle(inexact, sums.taken(inexact));
}

CarriedSums ExactContent::digits_at(gsl::span<const std::int64_t> places) const {
  BitRange bits;
  for (std::int64_t i : places) {
    bits.add(high[std::size_t(i)]);
    if (!low.empty()) bits.add(low[std::size_t(i)]);
  }
  DigitRange range = bits.digits(2);
  if (!wide_places.empty()) range = range.joined({wide.low(), wide.digit_count() + 1});
  DigitSums sums(std::int64_t(places.size()), range);
  for (std::size_t k = 0; k < places.size(); ++k) {
    auto i = std::size_t(places[k]);
    sums.add(std::int64_t(k), high[i]);
    if (!low.empty() && low[i] != 0) sums.add(std::int64_t(k), low[i]);
    if (wide_places.empty()) continue;
    auto found = std::lower_bound(wide_places.begin(), wide_places.end(), places[k]);
    if (found != wide_places.end() && *found == places[k])
      sums.add_sums(wide.slice({found - wide_places.begin(), 1}), std::int64_t(k));
  }
  return sums.take();
}

void ExactContent::settle(gsl::span<const std::int64_t> places, const CarriedSums& sums) {
  SIMMESH_CHECK(wide_places.empty(), "wide places beside those that are settled");
  SIMMESH_CHECK(sums.divisor() == 1, "sums over {} settled", sums.divisor());
  if (low.empty()) low.resize(std::size_t(count), 0);
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
    if (!is_kept(sums, std::int64_t(k))) {
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
