#include "core/engine/reports/interrupt.h"

#include <atomic>
#include <csignal>
#include <fmt/core.h>
#include <unistd.h>

#include "core/check/check.h"
#include "core/check/stack_trace.h"

namespace simmesh {

namespace {

std::atomic<bool> came_by_signal = false;

void on_interrupt(int) {
  if (came_by_signal.exchange(true)) _exit(Interrupt::exit_status);
  Interrupt::request();
}

}  // namespace

void Interrupt::tell(std::string_view text) {
  if (!came_by_signal) return;
  // On a terminal the cursor is after the progress, or after the typed text.
  std::string_view begin = isatty(STDERR_FILENO) ? "\n" : "";
  fmt::print(stderr, "{}{}\n", begin, text);
}

void Interrupt::on_sigint() {
  StackTrace::prepare();
  is_on_sigint_ = true;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  SIMMESH_CHECK(sigaction(SIGINT, &action, nullptr) == 0, "no handler for SIGINT");
}

}  // namespace simmesh
