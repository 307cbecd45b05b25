#include "core/engine/fiber_scheduler.h"

#include <boost/fiber/operations.hpp>
#include <thread>
#include <utility>

#include "core/engine/worker.h"

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
  if (!workers_.empty()) {
    workers_.back()->go_on_as(nullptr);
    workers_.back()->ended_fibers().enter();
  }
  return std::exchange(dispatcher_, nullptr);
}

// The sanitizers learn of a switch here, in a file that they don't instrument: between the
// announcement and the switch no instrumented function may return.
boost::fibers::context* FiberScheduler::pick_next() noexcept {
  if (std::exchange(dispatcher_is_next_, false)) return take_dispatcher();
  if (workers_.empty()) {
    if (others_.empty()) return take_dispatcher();
    boost::fibers::context* next = others_.front();
    others_.pop_front();
    return next;
  }
  Worker& worker = *workers_.back();
  boost::fibers::context* next = worker.next_context();
  if (next == worker.current_context()) {
    // A fiber can't be switched to from itself; the dispatcher switches back to it.
    worker.resume_after_dispatcher(next);
    return take_dispatcher();
  }
  FiberIdentity* to = worker.identity_of(next);
  FiberIdentity* from = std::exchange(worker.current_identity(), to);
  worker.go_on_as(next);
  from->leave_for(*to, worker.current_has_ended());
  return next;
}

bool FiberScheduler::has_ready_fibers() const noexcept {
  return dispatcher_ != nullptr || !others_.empty();
}

// Only threads that run no World wait here; they have fibers of their own that sleep.
void FiberScheduler::suspend_until(const std::chrono::steady_clock::time_point& time) noexcept {
  if (time != std::chrono::steady_clock::time_point::max()) std::this_thread::sleep_until(time);
}

void FiberScheduler::notify() noexcept {}

}  // namespace simmesh
