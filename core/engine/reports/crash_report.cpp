#include "core/engine/reports/crash_report.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

#include "core/check/append_text.h"
#include "core/check/check.h"
#include "core/engine/fibers/fiber_switch.h"
#include "core/engine/ranks/rank.h"
#include "core/engine/reports/reported_run.h"

namespace simmesh {

namespace {

// A report that can't be finished must not keep the program alive.
constexpr unsigned report_seconds_max = 30;

// Line is text that is written without allocating: a handler may have interrupted malloc.
class Line {
 public:
  template <class... Args>
  Line& add(fmt::format_string<Args...> format, Args&&... args) {
    size_ += write_text(gsl::span(text_).subspan(size_), format, std::forward<Args>(args)...);
    return *this;
  }
  void write() {
    std::size_t written = 0;
    while (written < size_) {
      ssize_t bytes = ::write(STDERR_FILENO, text_.data() + written, size_ - written);
      if (bytes <= 0 && errno != EINTR) break;
      if (bytes > 0) written += std::size_t(bytes);
    }
    size_ = 0;
  }
  std::string_view text() const { return {text_.data(), size_}; }

 private:
  std::array<char, 2048> text_;
  std::size_t size_ = 0;
};

void add_last_operation(Line& line, const ReportedRun& run, RankId rank) {
  const LastOperation& last = run.last_operation(rank);
  if (!last.name)
    line.add("  before its first operation\n");
  else
    line.add("  after it began {} at {}:{}\n", last.name, file_name(last.site), last.site.line);
}

// Writes the states of the other ranks, unless there is no memory for the text.
void write_others(const Crash& crash) noexcept {
  try {
    std::string text = crash.run.describe_ranks(crash.rank);
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace

void report_crash(const Crash& crash, const StackTrace& trace) noexcept {
  std::signal(SIGALRM, SIG_DFL);
  alarm(report_seconds_max);
  std::fflush(nullptr);
  Line line;
  line.add("[{}] ", crash.where);
  if (crash.rank != no_rank) line.add("rank {} ", crash.rank);
  line.add("{}\n", crash.reason);
  if (crash.rank != no_rank) add_last_operation(line, crash.run, crash.rank);
  line.write();
  if (crash.tells_of_others) write_others(crash);
  line.add("  calls, the innermost first:\n").write();
  trace.print();
  line.add("{}\n", crash.run.reproduce_line()).write();
  alarm(0);
}

void end_program(const Crash& crash) noexcept {
  report_crash(crash, StackTrace::here());
  std::_Exit(crash_status);
}

namespace {

struct HandledSignal {
  int number;
  const char* name;
};
constexpr std::array<HandledSignal, 5> handled = {{{SIGSEGV, "SIGSEGV"},
                                                   {SIGBUS, "SIGBUS"},
                                                   {SIGFPE, "SIGFPE"},
                                                   {SIGILL, "SIGILL"},
                                                   {SIGABRT, "SIGABRT"}}};

// ThreadEnd is kept by a thread from its first run on. A thread's exit, with which std::exit
// begins, destroys it before the fibers' own data.
struct ThreadEnd {
  std::unique_ptr<std::byte[]> signal_stack;  // null where the thread has another one
  bool is_prepared = false;

  ~ThreadEnd();
};

thread_local ThreadEnd thread_end;
constinit thread_local const ReportedRun* watched_run = nullptr;
constinit thread_local bool has_fibers = false;

// StackRange are the addresses of a stack.
struct StackRange {
  std::uintptr_t begin = 0, end = 0;

  bool has(std::uintptr_t address) const { return address >= begin && address < end; }
};
constinit thread_local StackRange thread_stack;

StackRange stack_of_thread() {
  StackRange range;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return range;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0)
    range = {reinterpret_cast<std::uintptr_t>(begin),
             reinterpret_cast<std::uintptr_t>(begin) + bytes};
  pthread_attr_destroy(&attributes);
  return range;
}

constexpr const char* left_its_body =
    "left its body by longjmp, setcontext or the like; expected it to return from the body that "
    "World::run runs, or to throw";

// True if a rank that is active has left its stack for that of its thread.
bool has_left_its_stack(std::uintptr_t stack_pointer) noexcept {
  return has_fibers && Rank::active() && thread_stack.has(stack_pointer);
}

#if !defined(SIMMESH_TSAN)

constexpr std::size_t signal_stack_bytes = 64 * 1024;

// Written before a handler is installed.
std::array<struct sigaction, handled.size()> handlers_before;

// Set by the first report, so that a fault in it isn't reported.
volatile std::sig_atomic_t has_reported = 0;

void pass_on(std::size_t index, siginfo_t* info, void* context) {
  const struct sigaction& before = handlers_before[index];
  int signal = handled[index].number;
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
    // The cause raises the signal again when this handler returns, and that ends the process. A
    // signal that was sent, by raise or kill, has no cause that stays, so it is sent again.
    std::signal(signal, SIG_DFL);
    if (info->si_code <= 0) std::raise(signal);
  } else {
    before.sa_handler(signal);
  }
}

// Returns 0 on processors whose registers aren't known.
std::uintptr_t stack_pointer_of(const void* context) {
#if defined(__x86_64__)
  return std::uintptr_t(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#else
  static_cast<void>(context);
  return 0;
#endif
}

void report_signal(std::size_t index, const siginfo_t& info, const void* context) {
  Rank* rank = Rank::active();
  if (!rank || has_reported) return;
  has_reported = 1;
  auto address = static_cast<const std::byte*>(info.si_addr);
  int signal = handled[index].number;
  bool is_access = signal == SIGSEGV || signal == SIGBUS;
  std::size_t overflowed = is_access ? watched_run->overflowed_stack_bytes(address) : 0;
  bool has_left = has_left_its_stack(stack_pointer_of(context));
  if (has_left) overflowed = 0;
  Line reason;
  if (has_left)
    reason.add("{}. Then it was ended by {}", left_its_body, handled[index].name);
  else if (overflowed > 0)
    reason.add(
        "overflowed its stack of {} bytes; set WorldOptions::stack_bytes to more, or keep large "
        "arrays on the heap",
        overflowed);
  else if (is_access)
    reason.add("was ended by {} at the address 0x{:x}", handled[index].name,
               reinterpret_cast<std::uintptr_t>(address));
  else if (signal == SIGABRT)
    reason.add("was ended by SIGABRT: abort, std::terminate or a failed assertion");
  else
    reason.add("was ended by {}", handled[index].name);
  report_crash({.run = *watched_run,
                .rank = rank->id(),
                .where = overflowed > 0 ? "engine/stack" : "engine/crash",
                .reason = reason.text(),
                .tells_of_others = false},
               StackTrace::of_signal(context));
  if (overflowed > 0) std::_Exit(crash_status);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  int error = errno;
  std::size_t index = 0;
  while (handled[index].number != signal) ++index;
  report_signal(index, *info, context);
  errno = error;
  pass_on(index, info, context);
}

bool install() {
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  bool installed = true;
  for (std::size_t i = 0; i < handled.size(); ++i)
    installed &= sigaction(handled[i].number, nullptr, &handlers_before[i]) == 0 &&
                 sigaction(handled[i].number, &action, nullptr) == 0;
  return installed;
}

void install_handlers() {
  StackTrace::prepare();
  if (FiberIdentity::is_watched()) return;
  static const bool installed = install();
  SIMMESH_CHECK(installed, "no handler for signals");
}

// A handler can't run on a stack that has overflowed.
std::unique_ptr<std::byte[]> give_signal_stack() {
  stack_t present = {};
  SIMMESH_CHECK(sigaltstack(nullptr, &present) == 0, "no alternate signal stack");
  if (!(present.ss_flags & SS_DISABLE)) return nullptr;
  auto stack = std::make_unique_for_overwrite<std::byte[]>(signal_stack_bytes);
  stack_t own = {};
  own.ss_sp = stack.get();
  own.ss_size = signal_stack_bytes;
  SIMMESH_CHECK(sigaltstack(&own, nullptr) == 0, "no alternate signal stack");
  return stack;
}

#else

void install_handlers() { StackTrace::prepare(); }
std::unique_ptr<std::byte[]> give_signal_stack() { return nullptr; }

#endif

// Ends the program with a report if a rank is active, whose call would have ended it in silence.
void report_exit(std::string_view call) noexcept {
  Rank* rank = Rank::active();
  if (!rank) return;
  expect_own_stack();
  Line reason;
  reason.add("{}; expected it to return from the body that World::run runs, or to throw", call);
  end_program(
      {.run = *watched_run, .rank = rank->id(), .where = "engine/exit", .reason = reason.text()});
}

ThreadEnd::~ThreadEnd() {
  report_exit("called std::exit, or ended its thread");
  if (!signal_stack) return;
  stack_t off = {};
  off.ss_flags = SS_DISABLE;
  sigaltstack(&off, nullptr);
}

}  // namespace

void expect_own_stack() noexcept {
  auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (!has_left_its_stack(here)) [[likely]]
    return;
  end_program({.run = *watched_run,
               .rank = Rank::active()->id(),
               .where = "engine/stack",
               .reason = left_its_body,
               .tells_of_others = false});
}

CrashWatch::CrashWatch(const ReportedRun& run, bool ranks_are_fibers)
    : outer_(std::exchange(watched_run, &run)),
      outer_has_fibers_(std::exchange(has_fibers, ranks_are_fibers)) {
  if (std::exchange(thread_end.is_prepared, true)) return;
  install_handlers();
  static const int refused = std::at_quick_exit([] { report_exit("called std::quick_exit"); });
  SIMMESH_CHECK(refused == 0, "no handler for std::quick_exit");
  thread_end.signal_stack = give_signal_stack();
  thread_stack = stack_of_thread();
}

CrashWatch::~CrashWatch() {
  watched_run = outer_;
  has_fibers = outer_has_fibers_;
}

}  // namespace simmesh
