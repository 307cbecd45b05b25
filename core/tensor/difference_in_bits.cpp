#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "core/engine/run/known.h"
#include "core/tensor/tensor.h"

namespace simmesh {

namespace {

// For integers the distance is exact; for bools it is 1.
template <class T>
auto distance(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return std::uint64_t(std::max(a, b)) - std::uint64_t(std::min(a, b));
  else if constexpr (std::is_integral_v<T>)
    return std::uint64_t(std::abs(std::int64_t(a) - std::int64_t(b)));
  else
    return std::abs(double(a) - double(b));
}

// A distance that is NaN counts as the largest.
template <class D>
D larger(D a, D b) {
  if (a != a) return a;
  return b > a || b != b ? b : a;
}

// Shows the bits where the two print alike, as NaNs do.
template <class T>
std::string expected_and_got(T expected, T got) {
  auto text = [](T value) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return fmt::format("{}", static_cast<float>(value));
    else
      return fmt::format("{}", value);
  };
  auto bits = [](T value) {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    return fmt::format(" (0x{:0{}x})", word, 2 * sizeof value);
  };
  if (text(expected) != text(got))
    return fmt::format("expected {}, got {}", text(expected), text(got));
  return fmt::format("expected {}{}, got {}{}", text(expected), bits(expected), text(got),
                     bits(got));
}

Dims index_of(std::int64_t element, DimSpan shape) {
  Dims index(shape.begin(), shape.end());
  for (std::size_t dim = shape.size(); dim-- > 0; element /= shape[dim])
    index[dim] = element % shape[dim];
  return index;
}

std::string bits_difference(const Tensor& actual, const Tensor& expected) {
  if (same_bits(actual, expected)) return {};
  std::string type =
      fmt::format("{}{}", to_string(expected.dtype()), to_string(DimSpan(expected.shape())));
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape())
    return fmt::format("expected {}, got {}{}", type, to_string(actual.dtype()),
                       to_string(DimSpan(actual.shape())));
  Tensor got = actual.contiguous(), wanted = expected.contiguous();
  return visit_dtype(got.dtype(), [&]<class T>(T) {
    gsl::span<const T> a = wanted.values<T>(), b = got.values<T>();
    std::size_t count = 0, first = 0;
    decltype(distance(T{}, T{})) largest{};
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::size_t at = i * sizeof(T);
      if (std::memcmp(wanted.data() + at, got.data() + at, sizeof(T)) == 0) continue;
      if (count++ == 0) first = i;
      largest = larger(largest, distance(a[i], b[i]));
    }
    return fmt::format("{} of {} elements of {} differ, by at most {}; the first at {}: {}", count,
                       a.size(), type, largest,
                       to_string(DimSpan(index_of(std::int64_t(first), expected.shape()))),
                       expected_and_got(a[first], b[first]));
  });
}

}  // namespace

std::string difference_in_bits(const Tensor& actual, const Tensor& expected) {
  return known_text("difference_in_bits", [&] { return bits_difference(actual, expected); });
}

}  // namespace simmesh
