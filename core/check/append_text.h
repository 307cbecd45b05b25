#pragma once

#include <cstddef>
#include <fmt/core.h>
#include <gsl/span>
#include <string>

namespace simmesh {

namespace detail {
void append_formatted(std::string& text, fmt::string_view format, fmt::format_args args);
std::size_t write_formatted(gsl::span<char> to, fmt::string_view format, fmt::format_args args);
}  // namespace detail

// append_text adds formatted text to the end of a text. Unlike fmt::format_to, which brings all of
// {fmt} into each source that calls it, this is compiled once.
//
//   std::string page;
//   append_text(page, "| {} | {} |\n", "ranks", 8);
template <class... Args>
void append_text(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  detail::append_formatted(text, format, fmt::make_format_args(args...));
}

// write_text writes formatted text to bytes without allocating, and returns the number of bytes
// that it wrote. Text that doesn't fit is cut.
template <class... Args>
std::size_t write_text(gsl::span<char> to, fmt::format_string<Args...> format, Args&&... args) {
  return detail::write_formatted(to, format, fmt::make_format_args(args...));
}

}  // namespace simmesh
