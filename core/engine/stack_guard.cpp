#include "core/engine/stack_guard.h"

#include <cerrno>
#include <csignal>

#include "core/check/check.h"

namespace simmesh {

namespace {

constexpr std::size_t handler_stack_bytes = 64 * 1024;

constinit thread_local StackGuard* innermost = nullptr;

#if !defined(SIMMESH_ASAN) && !defined(SIMMESH_TSAN)

// Written before the handler is installed.
struct sigaction handler_before;

void pass_on(int signal, siginfo_t* info, void* context) {
  if (handler_before.sa_flags & SA_SIGINFO) {
    handler_before.sa_sigaction(signal, info, context);
  } else if (handler_before.sa_handler == SIG_DFL || handler_before.sa_handler == SIG_IGN) {
    // The access is made again when this handler returns, and ends the process.
    std::signal(signal, SIG_DFL);
  } else {
    handler_before.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  int error = errno;
  bool opened = innermost && innermost->handle(static_cast<const std::byte*>(info->si_addr));
  errno = error;
  if (!opened) pass_on(signal, info, context);
}

bool install() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGSEGV, nullptr, &handler_before) == 0 &&
         sigaction(SIGSEGV, &action, nullptr) == 0;
}

void install_once() {
  static const bool installed = install();
  SIMMESH_CHECK(installed, "no handler for SIGSEGV");
}

#else

void install_once() {}

#endif

}  // namespace

StackGuard::StackGuard(StackArena& arena) : arena_(arena), outer_(innermost) {
  install_once();
  stack_t present = {};
  SIMMESH_CHECK(sigaltstack(nullptr, &present) == 0, "no alternate signal stack");
  if (present.ss_flags & SS_DISABLE) {
    handler_stack_ = std::make_unique<std::byte[]>(handler_stack_bytes);
    stack_t own = {};
    own.ss_sp = handler_stack_.get();
    own.ss_size = handler_stack_bytes;
    SIMMESH_CHECK(sigaltstack(&own, nullptr) == 0, "no alternate signal stack");
  }
  innermost = this;
}

StackGuard::~StackGuard() {
  innermost = outer_;
  if (!handler_stack_) return;
  stack_t off = {};
  off.ss_flags = SS_DISABLE;
  sigaltstack(&off, nullptr);
}

}  // namespace simmesh
