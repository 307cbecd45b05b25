#include "core/arithmetic/companions/exact_rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/arithmetic/sums/leading_bits.h"
#include "core/arithmetic/sums/rounding.h"
#include "core/kernels/instruction_set.h"
#include "core/kernels/kernels.h"

namespace simmesh {

namespace {

// Returns the numerators at one place as a sum over the divisor.
CarriedSums quotient_at(const ExactContent& content, std::int64_t i) {
  const std::int64_t place[] = {i};
  return content.digits_at(place).over(content.divisor);
}

double low_at(const ExactContent& content, std::int64_t i) {
  return content.low.empty() ? 0 : content.low[std::size_t(i)];
}

// Returns the root of a double rounded to odd: towards zero, with the last bit set where it isn't
// exact. So it is rounded once by rounding it to a dtype that has fewer bits.
double odd_root(double x) {
  double root = std::sqrt(x), rest = std::fma(-root, root, x);
  if (rest == 0) return root;
  auto bits = std::bit_cast<std::uint64_t>(root);
  return std::bit_cast<double>((rest < 0 ? bits - 1 : bits) | 1);
}

template <class T>
T root_at(const ExactContent& content, std::int64_t i) {
  constexpr double least = 0x1p-900, most = 0x1p900;  // between them `rest` is exact
  double high = content.high[std::size_t(i)];
  bool is_double = content.divisor == 1 && low_at(content, i) == 0;
  if (is_double && high > least && high < most)
    return rounded_to<T>(std::is_same_v<T, double> ? std::sqrt(high) : odd_root(high));
  if (is_double && high == 0 && content.wide_places.empty()) return rounded_to<T>(0);
  if (high - high != 0) return rounded_to<T>(std::sqrt(high));  // an infinity or a NaN
  return rounded_to<T>(
      rounded_root(leading_bits(digits_of(quotient_at(content, i), 0)), dtype_of<T>));
}

// RoundedQuotient is a quotient as the nearest double where that is settled.
struct RoundedQuotient {
  double value = 0;
  bool is_settled = false;
};

// A second division leaves less than the value's last bit, so that the remainder is exact for
// divisors up to 2^50. The quotient of two doubles is rounded once by itself.
RoundedQuotient quotient_of(double high, double low, double divisor) {
  constexpr double least = 0x1p-900, most = 0x1p900, largest_divisor = 0x1p50;
  double magnitude = std::fabs(high);
  bool is_near = magnitude > least && magnitude < most;
  if (is_near && low == 0) return {high / divisor, true};
  if (!is_near || divisor >= largest_divisor) return {high, high == 0 && low == 0};
  double first = high / divisor;
  double value = first + (std::fma(-first, divisor, high) + low) / divisor;
  double rest = std::fma(-value, divisor, high) + low;
  double last_bit = std::fabs(value) * 0x1p-53;  // at most the last bit, at least half of it
  return {value, std::fabs(rest) < 0.49 * last_bit * divisor};
}

double long_quotient(const ExactContent& content, std::int64_t i, DType dtype) {
  return quotient_at(content, i).rounded(0, dtype);
}

void round_to_doubles(const ExactContent& content, double* out) {
  if (content.divisor == 1) {
    std::copy(content.high.begin(), content.high.end(), out);
    return;
  }
  for (std::int64_t i = 0; i < content.count; ++i) {
    double high = content.high[std::size_t(i)];
    RoundedQuotient quotient = quotient_of(high, low_at(content, i), double(content.divisor));
    bool is_known = quotient.is_settled || high - high != 0;
    out[i] = is_known ? quotient.value : long_quotient(content, i, DType::float64);
  }
}

template <class T>
void round_narrow(const ExactContent& content, T* out) {
  constexpr std::int64_t largest_divisor = std::int64_t(1) << 50;
  double odd[pair_block_size];
  std::int32_t unsettled[pair_block_size];
  if (content.divisor >= largest_divisor && !content.low.empty()) {
    for (std::int64_t i = 0; i < content.count; ++i) {
      double high = content.high[std::size_t(i)];
      bool is_known = (high == 0 && low_at(content, i) == 0) || high - high != 0;
      out[i] = rounded_to<T>(is_known ? high : long_quotient(content, i, dtype_of<T>));
    }
    return;
  }
  auto* kernel = kernels_of(best_instruction_set()).odd_quotients;
  for (std::int64_t begin = 0; begin < content.count; begin += pair_block_size) {
    std::int64_t count = std::min(pair_block_size, content.count - begin);
    const double* low = content.low.empty() ? nullptr : content.low.data() + begin;
    int listed = kernel({.high = content.high.data() + begin, .low = low}, double(content.divisor),
                        {.odd = odd, .count = count, .unsettled = unsettled});
    for (std::int64_t k = 0; k < count; ++k) out[begin + k] = rounded_to<T>(odd[k]);
    for (int k = 0; k < listed; ++k) {
      std::int64_t i = begin + unsettled[k];
      out[i] = rounded_to<T>(long_quotient(content, i, dtype_of<T>));
    }
  }
}

template <class T>
void round_all(const ExactContent& content, T* out) {
  if (content.is_root) {
    for (std::int64_t i = 0; i < content.count; ++i) out[i] = root_at<T>(content, i);
    return;
  }
  if constexpr (std::is_same_v<T, double>)
    round_to_doubles(content, out);
  else
    round_narrow(content, out);
  if (content.wide_places.empty()) return;
  std::vector<T> wide(content.wide_places.size());
  content.wide.over(content.divisor).round(reinterpret_cast<std::byte*>(wide.data()), dtype_of<T>);
  for (std::size_t k = 0; k < wide.size(); ++k) out[content.wide_places[k]] = wide[k];
}

// Marks the values that are their elements. Narrow ones times a small divisor are doubles.
template <class T>
void find_elements(const ExactContent& content, const T* elements, std::vector<char>& found) {
  constexpr double small_divisor = 0x1p29;
  auto divisor = double(content.divisor);
  const double* high = content.high.data();
  bool is_plain = divisor == 1 || (!std::is_same_v<T, double> && divisor < small_divisor);
  char is_value = content.is_root ? 0 : 1;
  if (is_plain && content.low.empty()) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      bool is_same = widened(elements[i]) * divisor == high[i];
      found[i] = char(is_same & is_value) | char(high[i] - high[i] != 0);
    }
  } else if (is_plain) {
    const double* low = content.low.data();
    for (std::size_t i = 0; i < found.size(); ++i) {
      bool is_same = (widened(elements[i]) * divisor == high[i]) & (low[i] == 0);
      found[i] = char(is_same & is_value) | char(high[i] - high[i] != 0);
    }
  } else {
    for (std::size_t i = 0; i < found.size(); ++i) {
      ExactPair numerator = multiplied(widened(elements[i]), divisor);
      bool is_same = numerator.is_exact() && numerator.high == high[i] &&
                     numerator.low == low_at(content, std::int64_t(i));
      found[i] = char((is_same && is_value) || high[i] - high[i] != 0);
    }
  }
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
  std::vector<char> result(std::size_t(content.count), 0);
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>)
      find_elements(content, reinterpret_cast<const T*>(rounded), result);
  });
  for (std::int64_t place : content.wide_places) result[std::size_t(place)] = 0;
  return result;
}

}  // namespace simmesh
