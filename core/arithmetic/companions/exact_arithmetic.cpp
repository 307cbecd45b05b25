#include "core/arithmetic/companions/exact_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "core/arithmetic/companions/exact_rounding.h"
#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/non_finite_terms.h"
#include "core/arithmetic/sums/odd_factor.h"
#include "core/check/error.h"
#include "core/kernels/instruction_set.h"
#include "core/kernels/kernels.h"

namespace simmesh {

namespace {

constexpr std::int64_t divisor_limit = std::int64_t(1) << 53;
constexpr double quiet_nan = std::bit_cast<double>(0x7FF8000000000000u);

bool is_finite_number(double x) { return x - x == 0; }

// OperandReader reads the values of an array, or its only one again and again.
class OperandReader {
 public:
  OperandReader(const ExactContent& content, std::int64_t count)
      : content_(content), step_(content.count == count ? 1 : 0) {}

  PairOperand pairs() const {
    return {content_.high.data(), content_.low.empty() ? nullptr : content_.low.data(), step_};
  }

  // Adds the places where the value is wide to those of a result, which stay in order.
  void add_wide(std::vector<std::int64_t>& places, std::int64_t count) const {
    if (content_.wide_places.empty()) return;
    std::vector<std::int64_t> own = content_.wide_places, all;
    if (step_ == 0) {
      own.resize(std::size_t(count));
      std::iota(own.begin(), own.end(), 0);
    }
    std::set_union(places.begin(), places.end(), own.begin(), own.end(), std::back_inserter(all));
    places = std::move(all);
  }

  std::vector<std::int64_t> at(const std::vector<std::int64_t>& places) const {
    return step_ == 1 ? places : std::vector<std::int64_t>(places.size(), 0);
  }

 private:
  const ExactContent& content_;
  std::int64_t step_;
};

using PairKernel = int (*)(const PairOperand& a, const PairOperand& b, const PairBlock& out);

PairOperand pairs_from(const PairOperand& pairs, std::int64_t i) {
  std::int64_t first = i * pairs.step;
  return {pairs.high + first, pairs.low ? pairs.low + first : nullptr, pairs.step};
}

// Sets the values to the results of a kernel, and returns the places where these are no pairs.
std::vector<std::int64_t> fill_with_pairs(ExactContent& result, PairKernel kernel,
                                          const PairOperand& a, const PairOperand& b) {
  return result.fill_blocks([&](std::int64_t begin, const PairBlock& block) {
    return kernel(pairs_from(a, begin), pairs_from(b, begin), block);
  });
}

std::int64_t common_count(const ExactContent& a, const ExactContent& b) {
  if (a.count != b.count && a.count != 1 && b.count != 1)
    raise(ErrorKind::value_error, "companions/values",
          "expected as many values on both sides, or one, got {} and {}", a.count, b.count);
  return a.count == 1 ? b.count : a.count;
}

// The sum of values over one divisor.
ExactContent sum_of_two(const ExactContent& a, const ExactContent& b) {
  ExactContent sum{.count = common_count(a, b), .divisor = a.divisor};
  OperandReader x(a, sum.count), y(b, sum.count);
  std::vector<std::int64_t> places =
      fill_with_pairs(sum, kernels_of(best_instruction_set()).add_pairs, x.pairs(), y.pairs());
  x.add_wide(places, sum.count);
  y.add_wide(places, sum.count);
  if (places.empty()) return sum;
  std::vector<std::int64_t> from_a = x.at(places), from_b = y.at(places);
  DigitRange range = a.range_at(from_a).joined(b.range_at(from_b));
  DigitSums digits(std::int64_t(places.size()), {range.low, range.count + 1});
  a.add_at(from_a, digits);
  b.add_at(from_b, digits);
  sum.settle(places, digits.take());
  return sum;
}

// Multiplies sums over 1 place by place; where some aren't finite, all are given as doubles too.
CarriedSums products_of(const CarriedSums& a, const CarriedSums& b, gsl::span<const double> x,
                        gsl::span<const double> y) {
  DigitSums products(a.count(), {a.low() + b.low(), a.digit_count() + b.digit_count() + 2});
  for (std::int64_t i = 0; i < a.count(); ++i) {
    double left = x.empty() ? 0 : x[std::size_t(i)], right = y.empty() ? 0 : y[std::size_t(i)];
    if (is_finite_number(left) && is_finite_number(right)) {
      products.add_product(i, digits_of(a, i), digits_of(b, i));
      continue;
    }
    double value = left * right;
    products.add_non_finite(i, NonFiniteTerms::of(value == value ? value : quiet_nan));
  }
  return products.take();
}

bool are_finite(const ExactContent& content, gsl::span<const std::int64_t> places) {
  return std::all_of(places.begin(), places.end(), [&content](std::int64_t i) {
    return is_finite_number(content.high[std::size_t(i)]);
  });
}

std::vector<double> doubles_at(const ExactContent& content, gsl::span<const std::int64_t> places) {
  std::vector<double> all = signed_doubles(content), taken;
  for (std::int64_t i : places) taken.push_back(all[std::size_t(i)]);
  return taken;
}

ExactContent product_of_two(const ExactContent& a, const ExactContent& b) {
  ExactContent product{.count = common_count(a, b), .divisor = a.divisor * b.divisor};
  OperandReader x(a, product.count), y(b, product.count);
  std::vector<std::int64_t> places = fill_with_pairs(
      product, kernels_of(best_instruction_set()).multiply_pairs, x.pairs(), y.pairs());
  x.add_wide(places, product.count);
  y.add_wide(places, product.count);
  if (places.empty()) return product;
  std::vector<std::int64_t> from_a = x.at(places), from_b = y.at(places);
  std::vector<double> left, right;
  if (!are_finite(a, from_a) || !are_finite(b, from_b)) {
    left = doubles_at(a, from_a);
    right = doubles_at(b, from_b);
  }
  product.settle(places, products_of(a.digits_at(from_a), b.digits_at(from_b), left, right));
  return product;
}

ExactContent one_double(double x) { return {.count = 1, .high = {x}}; }

// Multiplies by 2^exponent, whose range is that of the exponents of two doubles.
ExactContent times_power(ExactContent content, int exponent) {
  constexpr int step = 900;
  while (exponent != 0) {
    int now = std::clamp(exponent, -step, step);
    content = product_of_two(content, one_double(std::ldexp(1.0, now)));
    exponent -= now;
  }
  return content;
}

// Returns N where a factor is the double 1.0 / N, else 0.
std::int64_t inverse_of(double factor) {
  constexpr double least = 0x1p-32;
  double magnitude = std::fabs(factor);
  if (!(magnitude < 1 && magnitude > least)) return 0;
  std::int64_t inverse = std::llround(1 / magnitude);
  if (1.0 / double(inverse) != magnitude) return 0;
  return factor < 0 ? -inverse : inverse;
}

// Returns N where a divisor is the double next to sqrt(N), else 0.
std::int64_t square_of(double divisor) {
  double square = divisor * divisor;
  if (!(square >= 1 && square < double(divisor_limit))) return 0;
  std::int64_t n = std::llround(square);
  return std::sqrt(double(n)) == divisor ? n : 0;
}

ExactContent under_root(ExactContent content) {
  content.is_root = false;
  return content;
}

ExactContent as_root(ExactContent content) {
  content.is_root = true;
  return content;
}

}  // namespace

std::optional<std::int64_t> common_divisor(std::int64_t a, std::int64_t b) {
  std::int64_t more = b / std::gcd(a, b);
  return more <= divisor_limit / a ? std::optional(a * more) : std::nullopt;
}

ExactContent over_divisor(const ExactContent& content, std::int64_t divisor) {
  if (content.divisor == divisor) return content;
  std::int64_t more = divisor / content.divisor;
  ExactContent result = product_of_two(content, one_double(double(more)));
  for (std::size_t i = 0; i < result.high.size(); ++i)
    if (result.high[i] == 0) result.high[i] = std::copysign(0.0, content.high[i]);
  result.divisor = divisor;
  return result;
}

ExactContent sum(const ExactContent& a, const ExactContent& b, double factor) {
  if (factor != 1.0) return sum(a, scaled(b, factor), 1.0);
  if (a.divisor == b.divisor) return sum_of_two(a, b);
  if (std::optional<std::int64_t> common = common_divisor(a.divisor, b.divisor))
    return sum_of_two(over_divisor(a, *common), over_divisor(b, *common));
  return sum_of_two(rounded_to_doubles(a), rounded_to_doubles(b));
}

ExactContent product(const ExactContent& a, const ExactContent& b) {
  if (a.divisor <= divisor_limit / b.divisor) return product_of_two(a, b);
  return product_of_two(rounded_to_doubles(a), rounded_to_doubles(b));
}

ExactContent scaled(const ExactContent& content, double factor) {
  if (content.is_root) {
    if (!(factor >= 0)) return scaled(rounded_to_doubles(content), factor);
    return as_root(scaled(scaled(under_root(content), factor), factor));
  }
  if (std::int64_t inverse = inverse_of(factor); inverse != 0)
    return divided(content, double(inverse));
  if (content.divisor == 1 || factor == 0 || !is_finite_number(factor))
    return product_of_two(content, one_double(factor));
  // The divisor goes out of the factor, so that x / 3 * 3 has divisor 1 again.
  OddFactor by = OddFactor::of(factor);
  std::int64_t shared = std::gcd(by.odd, content.divisor);
  std::int64_t rest = by.odd / shared;
  ExactContent result = product_of_two(content, one_double(std::ldexp(double(rest), by.exponent)));
  result.divisor = content.divisor / shared;
  return result;
}

ExactContent divided(const ExactContent& content, double by) {
  if (content.is_root) {
    if (!(by > 0)) return divided(rounded_to_doubles(content), by);
    if (std::int64_t n = square_of(by); n != 0)
      return as_root(divided(under_root(content), double(n)));
    return as_root(divided(divided(under_root(content), by), by));
  }
  if (by == 0 || !is_finite_number(by)) {
    ExactContent quotients{.count = content.count, .high = signed_doubles(content)};
    for (double& x : quotients.high) {
      x = x / by + 0.0;
      if (x != x) x = quiet_nan;
    }
    return quotients;
  }
  OddFactor odd = OddFactor::of(by);
  std::int64_t magnitude = std::abs(odd.odd);
  if (magnitude > divisor_limit / content.divisor) return divided(rounded_to_doubles(content), by);
  ExactContent quotient = times_power(content, -odd.exponent);
  if (odd.odd < 0) quotient = product_of_two(quotient, one_double(-1));
  for (double& x : quotient.high) x += 0.0;  // a -0 becomes +0
  quotient.divisor = content.divisor * magnitude;
  return quotient;
}

}  // namespace simmesh
