#pragma once

#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

namespace simmesh {

// hash_text returns a hash as it is printed, with 16 hexadecimal digits.
inline std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

// hash_from_text returns the hash that is printed so, nullopt if none is.
inline std::optional<std::uint64_t> hash_from_text(std::string_view text) {
  std::uint64_t hash = 0;
  std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  if (hash_text(hash) != text) return std::nullopt;
  return hash;
}

}  // namespace simmesh
