#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace simmesh {

// hash_text returns a hash as it is printed, with 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

// hash_from_text returns the hash that is printed so, nullopt if none is.
std::optional<std::uint64_t> hash_from_text(std::string_view text);

}  // namespace simmesh
