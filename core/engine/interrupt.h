#pragma once

#include <atomic>

namespace simmesh {

// Interrupt asks every World of the process to end: a run in progress ends when its rank gives up
// its turn, as a failed run whose report says where each rank stands; a later run does so at its
// start.
class Interrupt {
 public:
  // on_sigint lets Ctrl-C request an interrupt; a second one ends the process at once. A rank that
  // doesn't give up its turn is reported, with its stack, after a second, and the process ends with
  // status 130.
  static void on_sigint();

  // request may be called by a signal handler.
  static void request() noexcept { requested_.store(true, std::memory_order_relaxed); }
  static bool requested() noexcept { return requested_.load(std::memory_order_relaxed); }
  // clear lets Worlds run again.
  static void clear() noexcept { requested_.store(false, std::memory_order_relaxed); }

  static constexpr int exit_status = 130;

 private:
  static constinit inline std::atomic<bool> requested_ = false;
};

}  // namespace simmesh
