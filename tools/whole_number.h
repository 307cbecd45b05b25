#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <string>

namespace simmesh {

// whole_number returns the check of an option whose value is a whole number from least to most, in
// decimal digits. Its bounds are in the help, as "1 to 1024".
//
//   app.add_option("--ranks", ranks)->check(whole_number(1, 1024));
inline CLI::Validator whole_number(std::uint64_t least,
                                   std::uint64_t most = std::numeric_limits<std::int64_t>::max()) {
  bool has_bound = most < std::uint64_t(std::numeric_limits<std::int64_t>::max());
  auto problem = [least, most](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool is_whole = error == std::errc() && end == text.data() + text.size();
    if (is_whole && value >= least && value <= most) return {};
    return fmt::format("expected a whole number from {} to {}, got {}", least, most, text);
  };
  return {problem, has_bound ? fmt::format("{} to {}", least, most) : ""};
}

}  // namespace simmesh
