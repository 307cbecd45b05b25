#include "core/engine/interrupt.h"

#include <csignal>
#include <unistd.h>

#include "core/check/check.h"
#include "core/check/stack_trace.h"
#include "core/engine/watchdog.h"

namespace simmesh {

namespace {

void on_interrupt(int) {
  if (Interrupt::requested()) _exit(Interrupt::exit_status);
  Interrupt::request();
}

}  // namespace

void Interrupt::on_sigint() {
  StackTrace::prepare();
  Watchdog::look_for_interrupts();
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  SIMMESH_CHECK(sigaction(SIGINT, &action, nullptr) == 0, "no handler for SIGINT");
}

}  // namespace simmesh
