#pragma once

#include <string>
#include <string_view>

namespace simmesh::replay {

// gzip returns bytes compressed, without a name or a time in the header: equal bytes give equal
// ones.
std::string gzip(std::string_view bytes);

}  // namespace simmesh::replay
