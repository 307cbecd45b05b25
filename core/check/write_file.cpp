#include "core/check/write_file.h"

#include <filesystem>
#include <fstream>

#include "core/check/error.h"

namespace simmesh {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  raise(ErrorKind::value_error, "check/write_file",
        "expected to write {}, but '{}' can't be written to", what, path);
}

// Returns the name under which a file is written until it is finished. A special file, such as
// /dev/null, can't be replaced and is written directly.
std::string unfinished(const std::string& path, const std::string& what) {
  std::error_code fault;
  fs::file_status status = fs::status(path, fault);
  if (fs::is_directory(status)) refuse(path, what);
  return fs::exists(status) && !fs::is_regular_file(status) ? path : path + ".part";
}

}  // namespace

void write_file(const std::string& path, const std::string& text, const std::string& what) {
  std::string part = unfinished(path, what);
  std::ofstream stream(part, std::ios::binary);
  stream << text;
  stream.close();
  std::error_code fault;
  if (stream && part != path) fs::rename(part, path, fault);
  if (stream && !fault) return;
  std::error_code ignored;
  if (part != path) fs::remove(part, ignored);
  refuse(path, what);
}

void expect_writable(const std::string& path, const std::string& what) {
  std::string part = unfinished(path, what);
  std::ofstream stream(part, std::ios::binary | std::ios::app);
  std::error_code ignored;
  if (part != path) fs::remove(part, ignored);
  if (!stream) refuse(path, what);
}

}  // namespace simmesh
