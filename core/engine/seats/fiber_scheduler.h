#pragma once

#include <boost/fiber/algo/algorithm.hpp>
#include <boost/fiber/context.hpp>
#include <chrono>
#include <deque>
#include <vector>

#include "core/engine/seats/lane.h"
#include "core/engine/seats/seated_run.h"
#include "core/engine/seats/turns.h"

namespace simmesh {

// FiberScheduler is Boost.Fiber's scheduling algorithm on every thread that runs a World. While a
// World runs, only its ranks do: the Turns of the innermost of nested Worlds choose the next. While
// none runs, the other fibers of the thread run in the order in which they became ready.
class FiberScheduler final : public boost::fibers::algo::algorithm {
 public:
  FiberScheduler();
  ~FiberScheduler() override;

  // of_this_thread returns the thread's scheduler; the first call installs it.
  static FiberScheduler& of_this_thread();

  // push lets the turns of a run choose the next fiber on this thread, which is one of the run's
  // lanes, until pop.
  void push(SeatedRun& run, Lane& lane) { levels_.push_back({&run, &run.turns(), &lane}); }
  void pop() { levels_.pop_back(); }

  // catch_next stores the next fiber that becomes ready in a slot, instead of queueing it.
  void catch_next(boost::fibers::context*& slot) { catching_ = &slot; }

  // go_through_dispatcher makes the next pick the thread's dispatcher, which frees ended fibers.
  void go_through_dispatcher() { dispatcher_is_next_ = true; }

  void awakened(boost::fibers::context* context) noexcept override;
  boost::fibers::context* pick_next() noexcept override;
  bool has_ready_fibers() const noexcept override;
  void suspend_until(const std::chrono::steady_clock::time_point& time) noexcept override;
  void notify() noexcept override;

 private:
  // Level is one of nested Worlds.
  struct Level {
    const ReportedRun* run;
    Turns* turns;
    Lane* lane;
  };

  boost::fibers::context* take_dispatcher() noexcept;

  std::vector<Level> levels_;  // the innermost last
  std::deque<boost::fibers::context*> others_;
  boost::fibers::context* dispatcher_ = nullptr;
  boost::fibers::context** catching_ = nullptr;
  bool dispatcher_is_next_ = false;
};

}  // namespace simmesh
