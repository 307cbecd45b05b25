#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace simmesh {

// FileToRead is a file, and the words for it in errors: "[gate/file] expected a gate file, got
// ...".
struct FileToRead {
  std::string_view where;
  std::string_view what;
  const std::string& path;
  std::size_t bytes_max;
};

// read_file returns the bytes of a file, a pipe or a device. Raises a ValueError with the system's
// reason if it can't be read to its end, and if it has more than bytes_max bytes, of which it then
// has read no more.
std::string read_file(const FileToRead& file);

}  // namespace simmesh
