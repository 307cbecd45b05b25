#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace simmesh {

// counted returns a number of things in words: "1 file", "2 files".
std::string counted(std::int64_t count, std::string_view what);

}  // namespace simmesh
