#pragma once

#include <functional>

namespace simmesh {

struct RunRecords;

// RunObserver is a scope in which a function gets the records of each run that its thread makes,
// also of a failing one: the events, and the clocks of simulated devices. Runs keep as many events
// there as for a trace file.
//
//   int runs = 0;
//   RunObserver observer([&](const RunRecords&) { ++runs; });
//   Outcome outcome = world.run(body);
class RunObserver {
 public:
  using Sees = std::function<void(const RunRecords& run)>;

  explicit RunObserver(Sees sees) : sees_(std::move(sees)), before_(active_) { active_ = this; }
  ~RunObserver() { active_ = before_; }
  RunObserver(const RunObserver&) = delete;
  RunObserver& operator=(const RunObserver&) = delete;

  // active returns the innermost observer of this thread; null if there is none.
  static const RunObserver* active() { return active_; }
  void see(const RunRecords& run) const { sees_(run); }

 private:
  static constinit inline thread_local RunObserver* active_ = nullptr;

  Sees sees_;
  RunObserver* before_;
};

}  // namespace simmesh
