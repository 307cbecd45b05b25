#include "core/memory/not_enough_memory.h"

#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

#include "core/check/append_text.h"
#include "core/check/scarcity.h"

namespace simmesh {

namespace {

constexpr std::size_t bytes_of_mebibyte = std::size_t(1) << 20;

// Returns the bytes of address space that the process uses, 0 if the system doesn't tell.
std::size_t bytes_in_use() noexcept {
  std::array<char, 64> text{};
  int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t count = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (count <= 0) return 0;
  return std::strtoull(text.data(), nullptr, 10) * std::size_t(sysconf(_SC_PAGESIZE));
}

}  // namespace

NotEnoughMemory::NotEnoughMemory(std::size_t bytes) noexcept {
  gsl::span<char> free(text_.data(), text_.size() - 1);
  std::size_t size = write_text(free, "not enough memory: ");
  if (bytes > 0) size += write_text(free.subspan(size), "expected {} bytes, but ", bytes);
  size += write_text(free.subspan(size), "the process uses {} MiB of address space",
                     bytes_in_use() / bytes_of_mebibyte);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    size += write_text(free.subspan(size), ", and its limit is {} MiB (ulimit -v)",
                       limit.rlim_cur / bytes_of_mebibyte);
  Scarcity::note({text_.data(), size});
}

}  // namespace simmesh
