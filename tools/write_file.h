#pragma once

#include <string>

namespace simmesh {

// write_file writes the whole file or nothing. Throws a ValueError that names the file and what it
// was to hold ("the failing schedule").
void write_file(const std::string& path, const std::string& text, const std::string& what);

}  // namespace simmesh
