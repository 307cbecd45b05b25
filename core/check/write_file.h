#pragma once

#include <string>

namespace simmesh {

// write_file writes the whole file or nothing; where the path isn't a regular file, as /dev/null,
// it writes directly. Raises a ValueError that names the file and its content ("the failing
// schedule").
void write_file(const std::string& path, const std::string& text, const std::string& what);

// expect_writable raises as write_file would, and leaves no file behind. Call it before the work
// whose result will be written.
void expect_writable(const std::string& path, const std::string& what);

}  // namespace simmesh
