#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace simmesh {

// Release is a version of PyTorch whose behaviour a world follows. What differs between two of them
// is in core/release/release_change.h, and nowhere else.
enum class Release : std::uint8_t { v2_13, v2_15 };

// releases are all, the oldest first.
inline constexpr std::array releases = {Release::v2_13, Release::v2_15};
inline constexpr Release newest_release = releases.back();

// to_string returns "2.13"; parse_release reads it. Raises a ValueError for any other text.
std::string_view to_string(Release release);
Release parse_release(std::string_view text);

}  // namespace simmesh
