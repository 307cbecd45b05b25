#pragma once

#include <string>

namespace simmesh {

// falsified_page returns the page of all places that may change without changing a result, by kind,
// as the schemas mark them. docs/falsified.md holds it.
std::string falsified_page();

}  // namespace simmesh
