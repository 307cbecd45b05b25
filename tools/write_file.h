#pragma once

#include <string>

namespace simmesh {

// write_file writes the whole file or none of it. Throws a ValueError that says what ("the failing
// schedule") could not be written where.
void write_file(const std::string& path, const std::string& text, const std::string& what);

}  // namespace simmesh
