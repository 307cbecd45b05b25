#pragma once

#include <string>
#include <string_view>

namespace simmesh::replay {

// sha256 returns the SHA-256 of bytes, as 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace simmesh::replay
