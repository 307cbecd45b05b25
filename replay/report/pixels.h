#pragma once

#include <string>

namespace simmesh::replay {

// pixels returns a length with two decimals.
std::string pixels(double length);

}  // namespace simmesh::replay
