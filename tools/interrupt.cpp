#include "tools/interrupt.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace simmesh {

namespace {

std::atomic<bool> is_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

struct sigaction action_before;

void on_interrupt(int) {
  if (is_requested.exchange(true)) _exit(Interrupt::exit_status);
}

}  // namespace

Interrupt::Interrupt() {
  is_requested = false;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &action_before);
}

Interrupt::~Interrupt() { sigaction(SIGINT, &action_before, nullptr); }

bool Interrupt::requested() const { return is_requested; }

}  // namespace simmesh
