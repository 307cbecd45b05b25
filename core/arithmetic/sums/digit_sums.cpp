#include "core/arithmetic/sums/digit_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/arithmetic/sums/non_finite_terms.h"
#include "core/arithmetic/sums/rounding.h"
#include "core/arithmetic/sums/triple_sum.h"
#include "core/check/check.h"

namespace simmesh {

namespace {

// A digit of a term is at most 2^32, so that an int64 takes 2^30 of them and what is carried in.
constexpr std::int64_t digit_terms_between_carries = std::int64_t(1) << 30;

constexpr int floor_of_32nd(int bit) { return bit >> 5; }

// x = mantissa * 2^exponent.
struct Split {
  std::int64_t mantissa;
  int exponent;
};
Split split(double x) {
  constexpr int fraction_bits = 52, least_exponent = -1074;
  auto bits = std::bit_cast<std::uint64_t>(x);
  auto field = int(bits >> fraction_bits & 0x7FF);
  auto mantissa = std::int64_t(bits & ((std::uint64_t(1) << fraction_bits) - 1));
  if (field > 0) mantissa |= std::int64_t(1) << fraction_bits;
  return {x < 0 ? -mantissa : mantissa, least_exponent + std::max(field, 1) - 1};
}

bool is_finite(double x) { return x - x == 0; }

// NonZeroDigits are the digits of a sum from the first to the last one that isn't 0.
class NonZeroDigits {
 public:
  explicit NonZeroDigits(const SumDigits& sum) : low_(sum.low) {
    int begin = 0, end = sum.count;
    while (end > 0 && sum[end - 1] == 0) --end;
    while (begin < end && sum[begin] == 0) ++begin;
    low_ += begin;
    count_ = end - begin;
    if (count_ > at_hand) {
      long_.resize(std::size_t(count_));
      digits_ = long_.data();
    }
    for (int d = 0; d < count_; ++d) digits_[d] = sum[begin + d];
  }
  NonZeroDigits(const NonZeroDigits&) = delete;
  NonZeroDigits& operator=(const NonZeroDigits&) = delete;

  int low() const { return low_; }
  int count() const { return count_; }
  std::int64_t operator[](int d) const { return digits_[d]; }

 private:
  static constexpr int at_hand = 16;
  std::int64_t short_[at_hand];
  std::vector<std::int64_t> long_;
  std::int64_t* digits_ = short_;
  int low_, count_ = 0;
};

// Returns the bits that finite terms other than 0 take up.
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

}  // namespace

DigitRange DigitRange::of_bits(int lowest, int highest, std::int64_t terms) {
  int sign = highest + int(std::bit_width(std::uint64_t(terms))) + 1;
  int low = floor_of_32nd(lowest);
  return {low, std::max(floor_of_32nd(sign) - low + 1, 1)};
}

DigitRange DigitRange::whole() {
  constexpr int lowest = -2148, highest = 2048;
  return of_bits(lowest, highest, std::int64_t(1) << 62);
}

DigitRange DigitRange::joined(const DigitRange& other) const {
  int from = std::min(low, other.low), to = std::max(low + count, other.low + other.count);
  return {from, to - from};
}

DigitSums::DigitSums(std::int64_t count, const DigitRange& range)
    : count_(count), range_(range), digits_(std::size_t(count * range.count), 0) {}

void DigitSums::make_room(std::int64_t terms) {
  if (since_carry_ + terms > digit_terms_between_carries) carry();
  since_carry_ += terms;
}

// Brings all digits but the highest within 2^31; the sums stay the same.
void DigitSums::carry() {
  since_carry_ = 1;
  for (int d = 0; d + 1 < range_.count; ++d) {
    std::int64_t *digit = digits_at(d), *next = digits_at(d + 1);
    for (std::int64_t i = 0; i < count_; ++i) {
      auto kept = std::int64_t(std::int32_t(digit[i]));
      next[i] += (digit[i] - kept) >> 32;
      digit[i] = kept;
    }
  }
}

void DigitSums::add_non_finite(std::int64_t i, std::int64_t terms) {
  if (terms == 0) return;
  if (non_finite_.empty()) non_finite_.resize(std::size_t(count_), 0);
  std::int64_t& counted = non_finite_[std::size_t(i)];
  counted = NonFiniteTerms::merged(counted, terms);
}

// Adds k * 2^exponent to sum i. Each digit takes its share of k, and the highest one all that is
// left, so that no sign is carried beyond it.
void DigitSums::add_integer(std::int64_t i, Int128 k, int exponent) {
  if (k == 0) return;
  make_room(1);
  int digit = floor_of_32nd(exponent) - range_.low, shift = exponent & 31;
  const int last = range_.count - 1;
  SIMMESH_CHECK(digit <= last, "a term in digit {} of {}", digit, range_.count);
  std::int64_t* place = digits_.data() + std::int64_t(digit) * count_ + i;
  if (shift != 0 && digit < last) {
    Int128 share = k & ((Int128(1) << (32 - shift)) - 1);
    SIMMESH_CHECK(share == 0 || digit >= 0, "a term below digit {}", range_.low);
    if (share != 0) *place += std::int64_t(share) << shift;
    k >>= 32 - shift;
    shift = 0;
    ++digit;
    place += count_;
  }
  for (; digit < last && k != 0; ++digit, place += count_) {
    auto share = std::int32_t(std::uint32_t(k));
    k = (k - share) >> 32;
    SIMMESH_CHECK(share == 0 || digit >= 0, "a term below digit {}", range_.low);
    if (share != 0) *place += share;
  }
  if (k == 0) return;
  constexpr std::int64_t most = std::int64_t(1) << 31;
  SIMMESH_CHECK(digit >= 0 && -most <= k && k < most, "a term beyond digit {}", last);
  *place += std::int64_t(k) * (std::int64_t(1) << shift);
}

void DigitSums::add(std::int64_t i, double term) {
  if (!is_finite(term)) return add_non_finite(i, NonFiniteTerms::of(term));
  Split x = split(term);
  add_integer(i, x.mantissa, x.exponent);
}

// Cuts terms into digits from the highest one on: adding a large double and taking it off again
// rounds to a multiple of the digit's unit, which leaves at most half a unit.
void DigitSums::add_terms(gsl::span<const double> terms, std::int64_t first) {
  constexpr int least = -900, most = 900;
  bool is_near = 32 * range_.low >= least && 32 * (range_.low + range_.count) <= most;
  if (!is_near || !std::all_of(terms.begin(), terms.end(), is_finite)) {
    for (double term : terms) add(first++, term);
    return;
  }
  make_room(2);
  constexpr std::size_t block = 256;
  constexpr double to_integer = 0x1.8p52;
  double rest[block];
  for (std::size_t begin = 0; begin < terms.size(); begin += block) {
    std::size_t count = std::min(block, terms.size() - begin);
    std::copy_n(terms.data() + begin, count, rest);
    for (int d = range_.count - 1; d >= 0; --d) {
      double unit = std::ldexp(1.0, 32 * (range_.low + d)), inverse = 1 / unit;
      double large = to_integer * unit;
      std::int64_t* place = digits_at(d) + first + std::int64_t(begin);
      for (std::size_t i = 0; i < count; ++i) {
        double share = (rest[i] + large) - large;
        rest[i] -= share;
        place[i] += std::bit_cast<std::int64_t>(share * inverse + to_integer) -
                    std::bit_cast<std::int64_t>(to_integer);
      }
    }
    bool is_whole = std::all_of(rest, rest + count, [](double x) { return x == 0; });
    SIMMESH_CHECK(is_whole, "a term below digit {}", range_.low);
  }
}

void DigitSums::add_product(std::int64_t i, double a, double b) {
  if (!is_finite(a) || !is_finite(b)) return add_non_finite(i, NonFiniteTerms::of(a * b));
  Split x = split(a), y = split(b);
  add_integer(i, Int128(x.mantissa) * y.mantissa, x.exponent + y.exponent);
}

void DigitSums::add_sums(const CarriedSums& sums, std::int64_t first) {
  SIMMESH_CHECK(sums.divisor() == 1, "sums over {} added as they are", sums.divisor());
  make_room(1);
  for (int d = 0; d < sums.digit_count(); ++d) {
    int place = sums.low() + d - range_.low;
    SIMMESH_CHECK(place >= 0 && place < range_.count, "digit {} of {}", place, range_.count);
    std::int64_t* to = digits_at(place) + first;
    const std::int32_t* from = sums.digit(d);
    for (std::int64_t i = 0; i < sums.count(); ++i) to[i] += from[i];
  }
  for (std::size_t i = 0; i < sums.non_finite().size(); ++i)
    add_non_finite(first + std::int64_t(i), sums.non_finite()[i]);
}

void DigitSums::add_digits(std::int64_t i, const SumDigits& digits) {
  make_room(1);
  int first = digits.low - range_.low;
  SIMMESH_CHECK(first >= 0 && first + digits.count <= range_.count, "digits {} to {} of {}", first,
                first + digits.count, range_.count);
  std::int64_t* place = digits_at(first) + i;
  for (int d = 0; d < digits.count; ++d, place += count_) *place += digits[d];
}

// Digit k of the product is the sum of the products of those that are k digits away in all, and of
// what the one below carries.
void DigitSums::add_product(std::int64_t i, const SumDigits& a, const SumDigits& b) {
  NonZeroDigits x(a), y(b);
  if (x.count() == 0 || y.count() == 0) return;
  make_room(1);
  int count = x.count() + y.count(), first = x.low() + y.low() - range_.low;
  SIMMESH_CHECK(first >= 0 && first + count <= range_.count, "a product in digits {} to {} of {}",
                first, first + count, range_.count);
  std::int64_t* place = digits_at(first) + i;
  Int128 carried = 0;
  for (int k = 0; k < count; ++k, place += count_) {
    int begin = std::max(0, k - y.count() + 1), end = std::min(k + 1, x.count());
    for (int d = begin; d < end; ++d) carried += x[d] * y[k - d];
    auto share = std::int32_t(std::uint32_t(carried));
    *place += share;
    carried = (carried - share) >> 32;
  }
  SIMMESH_CHECK(carried == 0, "a product beyond digit {}", first + count - 1);
}

CarriedSums DigitSums::take(std::int64_t divisor) {
  carry();
  since_carry_ = 0;
  auto has_any = [this](int d) {
    const std::int64_t* digit = digits_at(d);
    return std::any_of(digit, digit + count_, [](std::int64_t x) { return x != 0; });
  };
  int begin = 0, end = range_.count;
  while (end > begin && !has_any(end - 1)) --end;
  while (begin < end && !has_any(begin)) ++begin;
  CarriedSums result;
  result.count_ = count_;
  result.low_ = range_.low + begin;
  result.divisor_ = divisor;
  result.digits_.resize(std::size_t(count_ * (end - begin)));
  std::int32_t* out = result.digits_.data();
  const std::int64_t* digits = digits_at(begin);
  std::int64_t beyond = 0;
  for (std::int64_t k = 0; k < count_ * (end - begin); ++k) {
    out[k] = std::int32_t(digits[k]);
    beyond |= out[k] ^ digits[k];
  }
  SIMMESH_CHECK(beyond == 0, "a sum beyond its highest digit");
  result.non_finite_ = std::move(non_finite_);
  non_finite_.clear();
  std::fill(digits_.begin(), digits_.end(), 0);
  return result;
}

CarriedSums carried_terms(const std::byte* data, DType dtype, std::int64_t count) {
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

// Products of doubles whose exponents are well away from the limits are pairs of doubles.
double exact_dot(const DoubleLine& a, const DoubleLine& b, std::int64_t count, DType dtype) {
  constexpr double least = 0x1p-900, most = 0x1p900;
  TripleSum triple;
  bool fits = true;
  for (std::int64_t k = 0; k < count; ++k) {
    double x = a.data[k * a.stride], y = b.data[k * b.stride], product = x * y;
    double magnitude = std::fabs(product);
    if (magnitude < least || !(magnitude < most)) {
      if (product == 0 && (x == 0 || y == 0)) continue;
      fits = false;
      break;
    }
    triple.add(product);
    if (double rest = std::fma(x, y, -product); rest != 0) triple.add(rest);
  }
  if (fits)
    if (std::optional<double> rounded = triple.rounded(dtype)) return *rounded;
  DigitSums sum(1, DigitRange::whole());
  for (std::int64_t k = 0; k < count; ++k)
    sum.add_product(0, a.data[k * a.stride], b.data[k * b.stride]);
  return sum.take().rounded(0, dtype);
}

}  // namespace simmesh
