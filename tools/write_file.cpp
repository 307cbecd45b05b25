#include "tools/write_file.h"

#include <filesystem>
#include <fstream>

#include "core/check/error.h"

namespace simmesh {

void write_file(const std::string& path, const std::string& text, const std::string& what) {
  std::string unfinished = path + ".part";
  std::ofstream stream(unfinished, std::ios::binary);
  stream << text;
  stream.close();
  std::error_code fault;
  if (stream) std::filesystem::rename(unfinished, path, fault);
  if (stream && !fault) return;
  std::error_code ignored;
  std::filesystem::remove(unfinished, ignored);
  raise(ErrorKind::value_error, "tools/write_file",
        "expected to write {}, but '{}' can't be written to", what, path);
}

}  // namespace simmesh
