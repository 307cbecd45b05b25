#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace simmesh {

class ReportedRun;

// Watchdog looks at a run in progress from another thread, for as long as it exists. If no rank
// gives up its turn for the timeout, in wall time in which the process ran, or within a second
// after Interrupt::request, the rank that has it is reported with its calls, and the program ends:
// with crash_status, or Interrupt::exit_status. While a rank runs a World of its own, only that one
// is looked at.
class Watchdog {
 public:
  // outer is the watchdog of the run whose rank starts this one, if any; its timeout counts if this
  // one has none. Without a timeout above 0 only interrupts are looked for.
  Watchdog(const ReportedRun& run, std::chrono::duration<double> timeout, Watchdog* outer);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // is_needed is true if a run must be looked at.
  static bool is_needed(std::chrono::duration<double> timeout);

 private:
  friend class WatchdogThread;

  void tick(std::chrono::duration<double> time);
  [[noreturn]] void report(std::string_view where, std::string_view what, int status) const;

  const ReportedRun& run_;
  std::chrono::duration<double> timeout_;
  Watchdog* outer_;
  int inner_ = 0;  // runs that ranks of this one have started
  std::uint64_t step_ = 0;
  std::chrono::duration<double> stands_for_{0};
};

}  // namespace simmesh
