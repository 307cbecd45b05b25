#include "core/check/stack_trace.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
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

constexpr std::size_t printed_max = 16;

// A stack of 1 MiB holds tens of thousands of calls. A thread that comes while another one uses
// this, or while it is interrupted, sees fewer.
constexpr std::size_t deep_max = std::size_t(1) << 16;
std::array<void*, deep_max> deep_frames;
std::atomic<bool> deep_frames_are_used = false;

// The addresses at which the program itself is loaded.
struct Image {
  std::uintptr_t base = 0, begin = 0, end = 0;

  bool contains(std::uintptr_t address) const { return address >= begin && address < end; }
};

struct Prepared {
  Image image;
  posix_spawn_file_actions_t to_standard_error;
  char program[4096];
};

// Keeps the first object, which is the program.
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

// The text of an address, "0x1a2b", made without allocating.
struct AddressText {
  explicit AddressText(std::uintptr_t address = 0) {
    std::snprintf(text, sizeof(text), "0x%zx", std::size_t(address));
  }
  char text[24];
};

// Runs addr2line with the arguments. Returns whether it succeeded.
bool run_addr2line(char* const* arguments) {
  // The child's dynamic linker must not load what this process's LD_PRELOAD asks for.
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

// Prints a line for each call. Leaves out calls in objects other than the program.
void print_calls(void* const* frames, std::size_t count) {
  const Prepared& tools = *prepared();
  char name[] = "addr2line", flags[] = "-Cfpsi", executable[] = "-e";
  char* arguments[printed_max + 5] = {name, flags, executable, const_cast<char*>(tools.program)};
  AddressText texts[printed_max];
  void* shown[printed_max];
  std::size_t printed = 0;
  for (std::size_t i = 0; i < count && printed < printed_max; ++i) {
    auto address = reinterpret_cast<std::uintptr_t>(frames[i]) - 1;
    if (!tools.image.contains(address)) continue;
    texts[printed] = AddressText(address - tools.image.base);
    arguments[4 + printed] = texts[printed].text;
    shown[printed++] = frames[i];
  }
  if (printed == 0) return;
  if (!run_addr2line(arguments)) backtrace_symbols_fd(shown, int(printed), STDERR_FILENO);
}

}  // namespace

void StackTrace::prepare() { prepared(); }

void StackTrace::keep(void* const* frames, std::size_t count) {
  inner_ = std::min(count, inner_max);
  outer_ = std::min(count - inner_, outer_max);
  between_ = count - inner_ - outer_;
  std::copy_n(frames, inner_, frames_.begin());
  std::copy_n(frames + count - outer_, outer_, frames_.begin() + inner_);
}

// Returns the calls from an address on; all calls where none has that address.
StackTrace StackTrace::above(const void* caller) {
  std::array<void*, 64> few;
  bool is_deep = !deep_frames_are_used.exchange(true);
  void** frames = is_deep ? deep_frames.data() : few.data();
  int found = backtrace(frames, int(is_deep ? deep_frames.size() : few.size()));
  std::size_t count = std::size_t(std::max(found, 0));
  void** begin = std::find(frames, frames + count, caller);
  if (begin == frames + count) begin = frames;
  StackTrace trace;
  trace.keep(begin, count - std::size_t(begin - frames));
  if (is_deep) deep_frames_are_used = false;
  return trace;
}

[[gnu::noinline]] StackTrace StackTrace::here() { return above(__builtin_return_address(0)); }

StackTrace StackTrace::of_signal(const void* context) {
  auto at = std::bit_cast<void*>(interrupted_at(context));
  StackTrace trace = above(at);
  // The interrupted frame has the address of its instruction; a return address is one past its
  // call.
  if (trace.inner_ > 0 && trace.frames_[0] == at) trace.frames_[0] = static_cast<char*>(at) + 1;
  return trace;
}

void StackTrace::print() const {
  print_calls(frames_.data(), inner_);
  if (between_ > 0) {
    std::array<char, 64> line;
    int bytes = std::snprintf(line.data(), line.size(), "... %zu more calls ...\n", between_);
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), std::size_t(bytes));
  }
  print_calls(frames_.data() + inner_, outer_);
}

}  // namespace simmesh
