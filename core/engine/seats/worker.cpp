#include "core/engine/seats/worker.h"

#include <boost/fiber/context.hpp>
#include <boost/fiber/fiber.hpp>
#include <functional>
#include <optional>
#include <thread>

#include "core/check/start_threads.h"
#include "core/engine/reports/crash_report.h"
#include "core/engine/seats/fiber_scheduler.h"
#include "core/engine/seats/forked_child.h"
#include "core/memory/data_mode.h"

namespace simmesh {

namespace {

// ArenaStack gives one stack of the arena to Boost.Fiber; the arena frees all of them at once.
struct ArenaStack {
  using traits_type = boost::context::stack_traits;

  boost::context::stack_context stack;

  boost::context::stack_context allocate() { return stack; }
  void deallocate(boost::context::stack_context&) noexcept {}
};

}  // namespace

void Worker::run_all(SeatedRun& run, const StackArena& stacks) {
  std::function<void(std::size_t)> work = [&run, &stacks](std::size_t other) {
    Worker(run, stacks, other + 1).work();
  };
  // With these parts, this thread can't fail before it has driven the ranks to their ends, for
  // which the others wait.
  FiberScheduler::of_this_thread();
  CrashWatch prepared(run, true);
  std::vector<std::jthread> threads =
      start_threads({.where = "engine/world", .count = run.turns().threads() - 1}, work);
  Worker(run, stacks, 0).work();
}

void Worker::launch(Seat& seat) {
  RankId id = seat.rank.id();
  boost::context::stack_context stack = stacks_.stack(id);
  seat.stack_end = stacks_.lower_end(id);
  seat.identity = FiberIdentity::of_stack(seat.stack_end, stack.size);
  FiberScheduler::of_this_thread().catch_next(seat.context);
  seat.identity.enter_scope();
  boost::fibers::fiber fiber(boost::fibers::launch::post, std::allocator_arg, ArenaStack{stack},
                             [this, &seat] {
                               lane_.arrived(seat);
                               run_.run_body(seat);
                             });
  seat.identity.leave_scope();
  fiber.detach();
}

void Worker::work() {
  FiberScheduler& scheduler = FiberScheduler::of_this_thread();
  CrashWatch crashes(run_, true);
  std::optional<ForkedChild::RankThread> beside_others;
  if (run_.turns().threads() > 1) beside_others.emplace();
  Rank* outer = Rank::active();
  DataModeScope data(run_.options().shapes_only);
  lane_.exceptions = &ExceptionState::of_current_thread();
  SavedExceptions exceptions(*lane_.exceptions);
  lane_.ended_fibers.emplace(run_.seats().size());
  lane_.thread = pthread_self();
  lane_.root = boost::fibers::context::active();
  lane_.current = lane_.root;
  lane_.root_identity = FiberIdentity::of_current_thread();
  lane_.current_identity = &lane_.root_identity;
  scheduler.push(run_, lane_);
  // Other threads may have changed a seat's state already.
  for (Seat& seat : run_.seats())
    if (seat.lane == &lane_ && runs(run_.options(), seat.rank.id())) launch(seat);
  drive();
  drain();
  scheduler.pop();
  lane_.ended_fibers.reset();
  for (Seat& seat : run_.seats())
    if (seat.lane == &lane_) seat.identity.release();
  make_active(outer);
}

void Worker::drive() {
  if (!is_first_) return suspend_root();
  do {
    lane_.gives_up_turn = true;
    suspend_root();
    make_active(nullptr);
  } while (!run_.settle());
  run_.turns().end();
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
