#include "core/check/append_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace simmesh::detail {

void append_formatted(std::string& text, fmt::string_view format, fmt::format_args args) {
  fmt::vformat_to(std::back_inserter(text), format, args);
}

std::size_t write_formatted(gsl::span<char> to, fmt::string_view format, fmt::format_args args) {
  return std::min(to.size(), fmt::vformat_to_n(to.data(), to.size(), format, args).size);
}

}  // namespace simmesh::detail
