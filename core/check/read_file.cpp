#include "core/check/read_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "core/check/error.h"
#include "core/check/scarcity.h"

namespace simmesh {

namespace {

[[noreturn]] void refuse(const FileToRead& file, int fault) {
  raise_refused(fault, ErrorKind::value_error, file.where,
                "expected {}, got '{}', which can't be read", file.what, file.path);
}

// Descriptor closes a file when it goes out of scope.
struct Descriptor {
  explicit Descriptor(const std::string& path)
      : value(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const int value;
};

}  // namespace

std::string read_file(const FileToRead& file) {
  Descriptor descriptor(file.path);
  if (descriptor.value < 0) refuse(file, errno);
  constexpr std::size_t bytes_at_once = std::size_t(1) << 18;
  std::string text;
  for (std::size_t length = 0;;) {
    text.resize(std::min(length + bytes_at_once, file.bytes_max + 1));
    ssize_t count = ::read(descriptor.value, text.data() + length, text.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(file, errno);
    length += std::size_t(count);
    if (length > file.bytes_max)
      raise(ErrorKind::value_error, file.where, "expected {} of at most {} bytes, got more in '{}'",
            file.what, file.bytes_max, file.path);
    if (count == 0) {
      text.resize(length);
      return text;
    }
  }
}

}  // namespace simmesh
