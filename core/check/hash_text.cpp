#include "core/check/hash_text.h"

#include <charconv>
#include <fmt/format.h>

namespace simmesh {

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::optional<std::uint64_t> hash_from_text(std::string_view text) {
  std::uint64_t hash = 0;
  std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  if (hash_text(hash) != text) return std::nullopt;
  return hash;
}

}  // namespace simmesh
