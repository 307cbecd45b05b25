#pragma once

#include <string>
#include <string_view>

namespace simmesh::replay {

// markup returns a text as HTML and SVG show it: with &lt; for <, and so on. Control bytes are left
// out.
std::string markup(std::string_view text);

// pixels returns a length with two decimals.
std::string pixels(double length);

}  // namespace simmesh::replay
