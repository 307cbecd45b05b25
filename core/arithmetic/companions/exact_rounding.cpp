#include "core/arithmetic/companions/exact_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/arithmetic/sums/leading_bits.h"
#include "core/arithmetic/sums/rounding.h"

namespace simmesh {

namespace {

// Returns the numerators at one place as a sum over the divisor.
CarriedSums quotient_at(const ExactContent& content, std::int64_t i) {
  const std::int64_t place[] = {i};
  return content.digits_at(place).over(content.divisor);
}

double root_at(const ExactContent& content, std::int64_t i, DType dtype) {
  double high = content.high[std::size_t(i)];
  if (high - high != 0) return std::sqrt(high);  // an infinity or a NaN
  return rounded_root(leading_bits(digits_of(quotient_at(content, i), 0)), dtype);
}

// RoundedQuotient is (high + low) / divisor as a double and the side on which the quotient lies. It
// is settled where that says all about rounding it.
struct RoundedQuotient {
  double value = 0;
  double rest = 0;  // has the sign of what the value misses
  bool is_settled = false;
};

// A second division leaves less than the value's last bit, so that the remainder is exact for
// divisors up to 2^50.
RoundedQuotient quotient_of(double high, double low, double divisor, bool is_double) {
  constexpr double least = 0x1p-900, most = 0x1p900, largest_divisor = 0x1p50;
  double magnitude = std::fabs(high);
  if (!(magnitude > least && magnitude < most && divisor < largest_divisor))
    return {high, 0, high == 0 && low == 0};
  double first = high / divisor;
  double value = first + (std::fma(-first, divisor, high) + low) / divisor;
  double rest = std::fma(-value, divisor, high) + low;
  if (!is_double) return {value, rest, true};
  double last_bit = std::fabs(value) * 0x1p-53;  // at most the last bit, at least half of it
  return {value, rest, std::fabs(rest) < 0.49 * last_bit * divisor};
}

template <class T>
void round_quotients(const ExactContent& content, T* out) {
  constexpr bool is_double = std::is_same_v<T, double>;
  auto divisor = double(content.divisor);
  for (std::int64_t i = 0; i < content.count; ++i) {
    double high = content.high[std::size_t(i)];
    double low = content.low.empty() ? 0 : content.low[std::size_t(i)];
    RoundedQuotient quotient = quotient_of(high, low, divisor, is_double);
    if (quotient.is_settled || high - high != 0)
      out[i] = rounded_to<T>(is_double ? quotient.value
                                       : odd_double_of({quotient.value, quotient.rest}));
    else
      out[i] = rounded_to<T>(quotient_at(content, i).rounded(0, dtype_of<T>));
  }
}

template <class T>
void round_numerators(const ExactContent& content, T* out) {
  const double* high = content.high.data();
  if (std::is_same_v<T, double> || content.low.empty()) {
    for (std::int64_t i = 0; i < content.count; ++i) out[i] = rounded_to<T>(high[i]);
    return;
  }
  const double* low = content.low.data();
  for (std::int64_t i = 0; i < content.count; ++i)
    out[i] = rounded_to<T>(odd_double_of({high[i], low[i]}));
}

template <class T>
void round_all(const ExactContent& content, T* out) {
  if (content.is_root) {
    for (std::int64_t i = 0; i < content.count; ++i)
      out[i] = rounded_to<T>(root_at(content, i, dtype_of<T>));
    return;
  }
  if (content.divisor == 1)
    round_numerators(content, out);
  else
    round_quotients(content, out);
  if (content.wide_places.empty()) return;
  CarriedSums wide = content.wide.over(content.divisor);
  for (std::size_t k = 0; k < content.wide_places.size(); ++k)
    out[content.wide_places[k]] = rounded_to<T>(wide.rounded(std::int64_t(k), dtype_of<T>));
}

}  // namespace

std::vector<std::byte> rounded_elements(const ExactContent& content, DType dtype) {
  std::vector<std::byte> bytes(std::size_t(content.count) * bytes_per_element(dtype));
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) round_all(content, reinterpret_cast<T*>(bytes.data()));
  });
  return bytes;
}

ExactContent rounded_to_doubles(const ExactContent& content) {
  ExactContent rounded{.count = content.count};
  rounded.high.resize(std::size_t(content.count));
  round_all(content, rounded.high.data());
  return rounded;
}

std::vector<double> signed_doubles(const ExactContent& content) {
  std::vector<double> doubles = content.high;
  for (std::size_t k = 0; k < content.wide_places.size(); ++k) {
    constexpr double least = std::numeric_limits<double>::denorm_min();
    constexpr double most = std::numeric_limits<double>::max();
    double value = content.wide.rounded(std::int64_t(k), DType::float64);
    double magnitude = std::clamp(std::fabs(value), least, most);
    bool is_negative = leading_bits(digits_of(content.wide, std::int64_t(k))).bits < 0;
    doubles[std::size_t(content.wide_places[k])] = is_negative ? -magnitude : magnitude;
  }
  return doubles;
}

std::vector<char> are_elements(const ExactContent& content, DType dtype, const std::byte* rounded) {
  auto divisor = double(content.divisor);
  std::vector<char> result(std::size_t(content.count), 0);
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) {
      const T* elements = reinterpret_cast<const T*>(rounded);
      for (std::size_t i = 0; i < result.size(); ++i) {
        double high = content.high[i], low = content.low.empty() ? 0 : content.low[i];
        ExactPair numerator{widened(elements[i])};
        if (divisor != 1) numerator = multiplied(numerator.high, divisor);
        bool is_same = numerator.high == high && numerator.low == low && numerator.is_exact();
        result[i] = (is_same && !content.is_root) || high - high != 0;
      }
    }
  });
  for (std::int64_t place : content.wide_places) result[std::size_t(place)] = 0;
  return result;
}

}  // namespace simmesh
