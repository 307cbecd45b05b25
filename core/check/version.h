#pragma once

#include <string_view>

namespace simmesh {

// version returns the version of the library: "0.1.0".
std::string_view version();

}  // namespace simmesh
