#include "core/check/write_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>

#include "core/check/error.h"
#include "core/check/scarcity.h"

namespace simmesh {

namespace {

namespace fs = std::filesystem;

// The reason is that of the last call to the system; 0 where there is none.
[[noreturn]] void refuse(const std::string& path, const std::string& what, int reason) {
  raise_refused(reason, ErrorKind::value_error, "check/write_file",
                "expected to write {}, but '{}' can't be written to", what, path);
}

// Returns the name under which a file is written until it is finished. A special file, such as
// /dev/null, can't be replaced and is written directly.
std::string unfinished(const std::string& path, const std::string& what) {
  std::error_code fault;
  fs::file_status status = fs::status(path, fault);
  if (fs::is_directory(status)) refuse(path, what, EISDIR);
  return fs::exists(status) && !fs::is_regular_file(status) ? path : path + ".part";
}

// UnfinishedFile removes the file of that name when it goes out of scope, unless it was renamed.
struct UnfinishedFile {
  std::string path;
  bool is_temporary;

  ~UnfinishedFile() {
    if (is_temporary) ::unlink(path.c_str());
  }
};

}  // namespace

void write_file(const std::string& path, const std::string& text, const std::string& what) {
  std::string name = unfinished(path, what);
  UnfinishedFile part{name, name != path};
  errno = 0;
  std::ofstream stream(part.path, std::ios::binary);
  stream << text;
  stream.close();
  int reason = errno;
  std::error_code fault;
  if (stream && part.is_temporary) fs::rename(part.path, path, fault);
  if (!stream || fault) refuse(path, what, fault ? fault.value() : reason);
  part.is_temporary = false;
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
