#include "python/bindings/torch/values_state.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "core/check/error.h"

namespace nb = nanobind;

namespace simmesh::python {

namespace {

template <class T>
nb::bytes raw_bytes(const std::vector<T>& numbers) {
  return nb::bytes(numbers.data(), numbers.size() * sizeof(T));
}

template <class T>
std::vector<T> vector_from(const nb::bytes& bytes) {
  if (bytes.size() % sizeof(T) != 0)
    raise(ErrorKind::value_error, "python/exact",
          "a state of values: expected a multiple of {} bytes, got {}", sizeof(T), bytes.size());
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

std::vector<std::int32_t> wide_digits(const CarriedSums& sums) {
  std::vector<std::int32_t> digits;
  for (int d = 0; d < sums.digit_count(); ++d)
    digits.insert(digits.end(), sums.digit(d), sums.digit(d) + sums.count());
  return digits;
}

bool are_places(const std::vector<std::int64_t>& places, std::int64_t count) {
  bool ascend =
      std::adjacent_find(places.begin(), places.end(), std::greater_equal<>()) == places.end();
  return ascend && (places.empty() || (places.front() >= 0 && places.back() < count));
}

}  // namespace

ValuesState state_of(const ExactValues& values) {
  const ExactContent& content = values.content();
  return {raw_bytes(content.high),
          raw_bytes(content.low),
          raw_bytes(content.wide_places),
          raw_bytes(wide_digits(content.wide)),
          content.wide.low(),
          content.divisor,
          content.is_root};
}

ExactValues values_of(const ValuesState& state) {
  const auto& [high, low, places, digits, lowest, divisor, is_root] = state;
  ExactContent content{.high = vector_from<double>(high),
                       .low = vector_from<double>(low),
                       .wide_places = vector_from<std::int64_t>(places),
                       .divisor = divisor,
                       .is_root = is_root};
  content.count = std::int64_t(content.high.size());
  std::vector<std::int32_t> wide = vector_from<std::int32_t>(digits);
  std::size_t sums = content.wide_places.size();
  bool fits = (content.low.empty() || content.low.size() == content.high.size()) && divisor >= 1 &&
              (sums == 0 ? wide.empty() : wide.size() % sums == 0) &&
              are_places(content.wide_places, content.count);
  if (!fits)
    raise(ErrorKind::value_error, "python/exact",
          "a state of values: expected parts of {} values, got {} second doubles, {} digits of {} "
          "values and the divisor {}",
          content.count, content.low.size(), wide.size(), sums, divisor);
  if (sums > 0) content.wide = CarriedSums::of_digits(std::move(wide), std::int64_t(sums), lowest);
  return ExactValues(std::move(content));
}

}  // namespace simmesh::python
