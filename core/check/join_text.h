#pragma once

#include <cstddef>
#include <cstdint>
#include <gsl/span>
#include <string>
#include <string_view>

namespace simmesh {

// join_text returns words, or numbers in decimal, with a separator between them: "2, 3, 5". Unlike
// fmt::join it is compiled once, and not in each source that calls it.
std::string join_text(gsl::span<const std::string> words, std::string_view separator);
std::string join_text(gsl::span<const std::string_view> words, std::string_view separator);
std::string join_text(gsl::span<const std::int64_t> numbers, std::string_view separator);
std::string join_text(gsl::span<const std::size_t> numbers, std::string_view separator);
std::string join_text(gsl::span<const std::uint32_t> numbers, std::string_view separator);
std::string join_text(gsl::span<const int> numbers, std::string_view separator);
std::string join_text(gsl::span<const double> numbers, std::string_view separator);

}  // namespace simmesh
