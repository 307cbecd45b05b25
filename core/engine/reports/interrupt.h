#pragma once

#include <atomic>
#include <string_view>

namespace simmesh {

// Interrupt asks every World of the process to end. A run in progress ends when its rank gives up
// its turn, as a failed run whose report has the state of each rank. A later run ends at its start.
class Interrupt {
 public:
  // on_sigint lets Ctrl-C request an interrupt. The run in progress then writes the state of each
  // of its ranks to standard error. A rank that doesn't give up its turn is reported after a
  // second, with its calls, and the process ends with exit_status. A second Ctrl-C ends it at once.
  static void on_sigint();

  // request may be called by a signal handler.
  static void request() noexcept { requested_.store(true, std::memory_order_relaxed); }
  static bool requested() noexcept { return requested_.load(std::memory_order_relaxed); }
  // clear lets Worlds run again.
  static void clear() noexcept { requested_.store(false, std::memory_order_relaxed); }

  // exit_status is the status that shells show for a program that Ctrl-C ended.
  static constexpr int exit_status = 130;

  // is_on_sigint is true if on_sigint was called.
  static bool is_on_sigint() noexcept { return is_on_sigint_.load(std::memory_order_relaxed); }

  // tell writes the text to standard error, if Ctrl-C requested the interrupt.
  static void tell(std::string_view text);

 private:
  static constinit inline std::atomic<bool> requested_ = false;
  static constinit inline std::atomic<bool> is_on_sigint_ = false;
};

}  // namespace simmesh
