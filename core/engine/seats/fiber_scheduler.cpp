#include "core/engine/seats/fiber_scheduler.h"

#include <boost/fiber/operations.hpp>
#include <thread>
#include <utility>

#include "core/engine/reports/crash_report.h"

namespace simmesh {

namespace {
thread_local FiberScheduler* installed = nullptr;
}

FiberScheduler::FiberScheduler() { installed = this; }
FiberScheduler::~FiberScheduler() {
  if (installed == this) installed = nullptr;
}

FiberScheduler& FiberScheduler::of_this_thread() {
  if (!installed) boost::fibers::use_scheduling_algorithm<FiberScheduler>();
  return *installed;
}

void FiberScheduler::awakened(boost::fibers::context* context) noexcept {
  if (catching_) {
    *std::exchange(catching_, nullptr) = context;
  } else if (context->is_context(boost::fibers::type::dispatcher_context)) {
    dispatcher_ = context;
  } else {
    others_.push_back(context);
  }
}

boost::fibers::context* FiberScheduler::take_dispatcher() noexcept {
  if (!levels_.empty()) {
    Lane& lane = *levels_.back().lane;
    lane.current = nullptr;
    lane.ended_fibers->enter();
  }
  return std::exchange(dispatcher_, nullptr);
}

namespace {

// Returns the next seat of a lane, null for its root.
Seat* next_seat(Turns& turns, Lane& lane) {
  if (lane.is_draining) return nullptr;
  if (!lane.after_dispatcher) return turns.next_seat(lane);
  Seat* seat = *lane.after_dispatcher;
  lane.after_dispatcher.reset();
  return seat;
}

// Ends the program: Boost.Fiber lets nothing throw here, and its own state has already changed.
[[noreturn]] void refuse_primitive(const ReportedRun& run) noexcept {
  end_program({.run = run,
               .rank = Rank::active()->id(),
               .where = "engine/fiber",
               .reason =
                   "waits in a primitive of Boost.Fiber (this_fiber::yield or sleep_for, a "
                   "mutex, a condition variable, a future), which knows nothing of schedules; "
                   "expected a collective, a message, Rank::yield or Shared"});
}

}  // namespace

// The sanitizers learn of a switch here, in a file that they don't instrument: between the
// announcement and the switch no instrumented function may return.
boost::fibers::context* FiberScheduler::pick_next() noexcept {
  if (std::exchange(dispatcher_is_next_, false)) return take_dispatcher();
  if (levels_.empty()) {
    if (others_.empty()) return take_dispatcher();
    boost::fibers::context* next = others_.front();
    others_.pop_front();
    return next;
  }
  Lane& lane = *levels_.back().lane;
  bool suspends = std::exchange(lane.suspends, false);
  bool is_rank = lane.current && lane.current != lane.root;
  if (is_rank && !suspends && !lane.current_has_ended) [[unlikely]]
    refuse_primitive(*levels_.back().run);
  Seat* seat = next_seat(*levels_.back().turns, lane);
  boost::fibers::context* next = seat ? seat->context : lane.root;
  if (next == lane.current) {
    // A fiber can't be switched to from itself; the dispatcher switches back to it.
    lane.after_dispatcher = seat;
    return take_dispatcher();
  }
  FiberIdentity* to = seat ? &seat->identity : &lane.root_identity;
  FiberIdentity* from = std::exchange(lane.current_identity, to);
  lane.current = next;
  from->leave_for(*to, lane.current_has_ended);
  return next;
}

bool FiberScheduler::has_ready_fibers() const noexcept {
  return dispatcher_ != nullptr || !others_.empty();
}

// Only threads that run no World wait here; their own fibers may sleep.
void FiberScheduler::suspend_until(const std::chrono::steady_clock::time_point& time) noexcept {
  if (time != std::chrono::steady_clock::time_point::max()) std::this_thread::sleep_until(time);
}

void FiberScheduler::notify() noexcept {}

}  // namespace simmesh
