#include "core/engine/run/worker.h"

#include <boost/fiber/context.hpp>
#include <boost/fiber/fiber.hpp>
#include <mutex>
#include <thread>

#include "core/engine/reports/crash_report.h"
#include "core/engine/run/fiber_scheduler.h"
#include "core/memory/data_mode.h"

namespace simmesh {

namespace {

// ArenaStack hands one stack of the arena to Boost.Fiber; the arena frees all of them at once.
struct ArenaStack {
  using traits_type = boost::context::stack_traits;

  boost::context::stack_context stack;

  boost::context::stack_context allocate() { return stack; }
  void deallocate(boost::context::stack_context&) noexcept {}
};

}  // namespace

void Worker::run_all(Run& run, const std::function<void(Rank&)>& body) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < run.lanes_.size(); ++i)
    threads.emplace_back([&run, i, &body] { Worker(run, i).work(body); });
  Worker(run, 0).work(body);
}

void Worker::launch(RankId id, const std::function<void(Rank&)>& body) {
  Seat& seat = run_.seats_[id];
  boost::context::stack_context stack = run_.stacks_->stack(id);
  seat.stack_end = run_.stacks_->lower_end(id);
  seat.identity = FiberIdentity::of_stack(seat.stack_end, stack.size);
  FiberScheduler::of_this_thread().catch_next(seat.context);
  seat.identity.enter_scope();
  boost::fibers::fiber fiber(boost::fibers::launch::post, std::allocator_arg, ArenaStack{stack},
                             [this, &seat, &body] {
                               lane_.arrived(seat);
                               run_.run_body(seat, body);
                             });
  seat.identity.leave_scope();
  fiber.detach();
}

void Worker::work(const std::function<void(Rank&)>& body) {
  FiberScheduler& scheduler = FiberScheduler::of_this_thread();
  CrashWatch crashes(run_);
  Rank* outer = Rank::active();
  DataModeScope data(run_.options().shapes_only);
  lane_.exceptions = &ExceptionState::of_current_thread();
  SavedExceptions exceptions(*lane_.exceptions);
  lane_.ended_fibers.emplace(run_.seats_.size());
  lane_.thread = pthread_self();
  lane_.root = boost::fibers::context::active();
  lane_.current = lane_.root;
  lane_.root_identity = FiberIdentity::of_current_thread();
  lane_.current_identity = &lane_.root_identity;
  scheduler.push(run_, lane_);
  const std::function<void(Rank&)> serve = [this](Rank& deputy) { run_.serve(deputy); };
  for (Seat& seat : run_.seats_) {
    RankId id = seat.rank.id();
    if (seat.lane != &lane_ || !runs(run_.options(), id)) continue;
    // Other threads may have changed the seat's state already.
    launch(id, crew_of(run_.options(), id) > 0 ? serve : body);
  }
  drive();
  drain();
  scheduler.pop();
  lane_.ended_fibers.reset();
  for (Seat& seat : run_.seats_)
    if (seat.lane == &lane_) seat.identity.release();
  make_active(outer);
}

void Worker::drive() {
  if (index_ != 0) return suspend_root();
  do {
    lane_.gives_up_turn = true;
    suspend_root();
    run_.root_has_turn_ = false;
    make_active(nullptr);
  } while (!run_.settle());
  if (run_.has_one_thread()) return;
  std::lock_guard lock(run_.turn_mutex_);
  run_.done_ = true;
  for (auto& lane : run_.lanes_) lane->changed.notify_one();
}

void Worker::suspend_root() {
  lane_.root->suspend();
  lane_.root_identity.arrive();
}

// The dispatcher destroys the fibers that have ended, then picks again: the root.
void Worker::drain() {
  lane_.is_draining = true;
  FiberScheduler::of_this_thread().go_through_dispatcher();
  suspend_root();
  lane_.is_draining = false;
}

}  // namespace simmesh
