#include "core/check/write_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/check/error.h"

namespace simmesh {

namespace {

namespace fs = std::filesystem;

// The reason is that of the last call to the system; 0 where there is none.
[[noreturn]] void refuse(const std::string& path, const std::string& what, int reason) {
  raise(ErrorKind::value_error, "check/write_file",
        "expected to write {}, but '{}' can't be written to{}{}", what, path,
        reason == 0 ? "" : ": ", reason == 0 ? "" : std::generic_category().message(reason));
}

// Returns the name under which a file is written until it is finished. A special file, such as
// /dev/null, can't be replaced and is written directly.
std::string unfinished(const std::string& path, const std::string& what) {
  std::error_code fault;
  fs::file_status status = fs::status(path, fault);
  if (fs::is_directory(status)) refuse(path, what, EISDIR);
  return fs::exists(status) && !fs::is_regular_file(status) ? path : path + ".part";
}

}  // namespace

void write_file(const std::string& path, const std::string& text, const std::string& what) {
  std::string part = unfinished(path, what);
  errno = 0;
  std::ofstream stream(part, std::ios::binary);
  stream << text;
  stream.close();
  int reason = errno;
  std::error_code fault;
  if (stream && part != path) fs::rename(part, path, fault);
  if (stream && !fault) return;
  std::error_code ignored;
  if (part != path) fs::remove(part, ignored);
  refuse(path, what, fault ? fault.value() : reason);
}

void expect_writable(const std::string& path, const std::string& what) {
  std::string part = unfinished(path, what);
  errno = 0;
  std::ofstream stream(part, std::ios::binary | std::ios::app);
  int reason = errno;
  std::error_code ignored;
  if (part != path) fs::remove(part, ignored);
  if (!stream) refuse(path, what, reason);
}

}  // namespace simmesh
