#include "core/check/join_text.h"

#include <fmt/format.h>

namespace simmesh {

namespace {

template <class Value>
std::string joined(gsl::span<const Value> values, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += separator;
    text += fmt::format("{}", values[i]);
  }
  return text;
}

}  // namespace

std::string join_text(gsl::span<const std::string> words, std::string_view separator) {
  return joined(words, separator);
}
std::string join_text(gsl::span<const std::string_view> words, std::string_view separator) {
  return joined(words, separator);
}
std::string join_text(gsl::span<const std::int64_t> numbers, std::string_view separator) {
  return joined(numbers, separator);
}
std::string join_text(gsl::span<const std::size_t> numbers, std::string_view separator) {
  return joined(numbers, separator);
}
std::string join_text(gsl::span<const std::uint32_t> numbers, std::string_view separator) {
  return joined(numbers, separator);
}
std::string join_text(gsl::span<const int> numbers, std::string_view separator) {
  return joined(numbers, separator);
}
std::string join_text(gsl::span<const double> numbers, std::string_view separator) {
  return joined(numbers, separator);
}

}  // namespace simmesh
