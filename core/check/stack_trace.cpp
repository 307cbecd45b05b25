#include "core/check/stack_trace.h"

#include <cstdint>
#include <cstdio>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

namespace simmesh {

namespace {

// Deep recursions are shown by their innermost calls.
constexpr std::size_t printed_max = 16;

// Where the program itself lies in memory.
struct Image {
  std::uintptr_t base = 0, begin = 0, end = 0;

  bool contains(std::uintptr_t address) const { return address >= begin && address < end; }
};

struct Prepared {
  Image image;
  posix_spawn_file_actions_t to_standard_error;
  char program[4096];
};

// The first object is the program.
int find_image(dl_phdr_info* info, std::size_t, void* found) {
  auto& image = *static_cast<Image*>(found);
  image.base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    image.begin = image.base + segment.p_vaddr;
    image.end = image.begin + segment.p_memsz;
  }
  return 1;
}

const Prepared* prepared() {
  static const Prepared* made = [] {
    static Prepared result;
    void* frame = nullptr;
    backtrace(&frame, 1);  // loads libgcc
    dl_iterate_phdr(find_image, &result.image);
    posix_spawn_file_actions_init(&result.to_standard_error);
    posix_spawn_file_actions_adddup2(&result.to_standard_error, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&result.to_standard_error, STDERR_FILENO, "/dev/null",
                                     O_WRONLY, 0);
    ssize_t bytes = readlink("/proc/self/exe", result.program, sizeof(result.program) - 1);
    result.program[bytes > 0 ? bytes : 0] = 0;
    return &result;
  }();
  return made;
}

std::uintptr_t interrupted_at(const void* context) {
  const auto* machine = &static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return std::uintptr_t(machine->gregs[REG_RIP]);
#elif defined(__aarch64__)
  return machine->pc;
#else
  static_cast<void>(machine);
  return 0;
#endif
}

// Text of an address, "0x1a2b", without allocating.
struct AddressText {
  explicit AddressText(std::uintptr_t address = 0) {
    std::snprintf(text, sizeof(text), "0x%zx", std::size_t(address));
  }
  char text[24];
};

// Runs addr2line with the arguments; says whether it did its work.
bool run_addr2line(char* const* arguments) {
  // The dynamic linker of the child must not load what this process asks for.
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
  char* environment[] = {path, nullptr};
  pid_t child = 0;
  const char* places[] = {"/usr/bin/addr2line", "/usr/local/bin/addr2line", "/bin/addr2line"};
  for (const char* place : places) {
    if (access(place, X_OK) != 0) continue;
    if (posix_spawn(&child, place, &prepared()->to_standard_error, nullptr, arguments,
                    environment) != 0)
      continue;
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return false;
}

}  // namespace

void StackTrace::prepare() { prepared(); }

[[gnu::noinline]] StackTrace StackTrace::here() {
  StackTrace trace;
  int found = backtrace(trace.frames_.data(), int(frames_max));
  // The first is this function.
  for (int i = 1; i < found; ++i) trace.frames_[trace.size_++] = trace.frames_[std::size_t(i)];
  return trace;
}

StackTrace StackTrace::of_signal(const void* context) {
  StackTrace all = here();
  auto at = reinterpret_cast<void*>(interrupted_at(context));
  for (std::size_t i = 0; i < all.size_; ++i) {
    if (all.frames_[i] != at) continue;
    StackTrace trace;
    // What was interrupted is at its instruction; callers are one behind their call.
    for (; i < all.size_; ++i) trace.frames_[trace.size_++] = all.frames_[i];
    trace.frames_[0] = static_cast<char*>(at) + 1;
    return trace;
  }
  return all;
}

void StackTrace::print() const {
  const Prepared& tools = *prepared();
  char name[] = "addr2line", flags[] = "-Cfpsi", executable[] = "-e";
  char* arguments[printed_max + 5] = {name, flags, executable, const_cast<char*>(tools.program)};
  AddressText texts[printed_max];
  std::size_t printed = 0;
  void* shown[printed_max];
  for (std::size_t i = 0; i < size_ && printed < printed_max; ++i) {
    auto address = reinterpret_cast<std::uintptr_t>(frames_[i]) - 1;
    if (!tools.image.contains(address)) continue;
    texts[printed] = AddressText(address - tools.image.base);
    arguments[4 + printed] = texts[printed].text;
    shown[printed++] = frames_[i];
  }
  if (printed == 0) return;
  if (!run_addr2line(arguments)) backtrace_symbols_fd(shown, int(printed), STDERR_FILENO);
}

}  // namespace simmesh
