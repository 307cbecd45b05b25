#include "core/engine/worker.h"

#include <boost/fiber/fiber.hpp>
#include <boost/thread/lock_guard.hpp>
#include <utility>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/clock/clock.h"
#include "core/engine/fiber_scheduler.h"
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

thread_local Rank* current_rank = nullptr;

void make_current(Rank* rank) {
  current_rank = rank;
  Ledger::set_active(rank ? &rank->ledger() : nullptr);
  Clock::set_active(rank ? rank->clock() : nullptr);
}

}  // namespace

bool in_rank() { return current_rank != nullptr; }

Rank& this_rank() {
  if (!current_rank)
    raise(ErrorKind::runtime_error, "engine/world",
          "expected to be called from a rank: inside the body that World::run runs");
  return *current_rank;
}

void Worker::arrived(Run::Seat& seat) {
  seat.identity.arrive();
  current_has_ended_ = false;
  if (guard_) [[unlikely]]
    guard_->enter(seat.rank.id());
  make_current(&seat.rank);
}

FiberIdentity* Worker::identity_of(const boost::fibers::context* context) {
  if (context == root_) return &root_identity_;
  SIMMESH_CHECK(resuming_ && resuming_->context == context, "an unknown fiber is resumed");
  return const_cast<FiberIdentity*>(&resuming_->identity);
}

void Worker::release(RankId rank) { released_.push_back(rank); }

void Worker::launch(RankId id, const std::function<void(Rank&)>& body) {
  Run::Seat& seat = run_.seats_[id];
  boost::context::stack_context stack = run_.stacks_->stack(id);
  seat.canary = &run_.stacks_->canary(id);
  seat.identity = FiberIdentity::of_stack(run_.stacks_->lower_end(id), stack.size);
  FiberScheduler::of_this_thread().catch_next(seat.context);
  seat.identity.enter_scope();
  boost::fibers::fiber fiber(boost::fibers::launch::post, std::allocator_arg, ArenaStack{stack},
                             [this, id, &body] {
                               arrived(run_.seats_[id]);
                               run_.run_body(id, body);
                             });
  seat.identity.leave_scope();
  fiber.detach();
}

void Worker::work(const std::function<void(Rank&)>& body) {
  FiberScheduler& scheduler = FiberScheduler::of_this_thread();
  Rank* outer = current_rank;
  bool outer_shapes_only = DataMode::shapes_only();
  DataMode::set_shapes_only(run_.world().options().shapes_only);
  exceptions_ = &ExceptionState::of_current_thread();
  SavedExceptions exceptions(*exceptions_);
  if (run_.stacks_->has_guard_pages()) guard_.emplace(*run_.stacks_);
  ended_fibers_.emplace(run_.seats_.size());
  root_ = boost::fibers::context::active();
  current_context_ = root_;
  root_identity_ = FiberIdentity::of_current_thread();
  current_identity_ = &root_identity_;
  scheduler.push(*this);
  for (std::size_t id = index_; id < run_.seats_.size(); id += run_.workers_.size())
    if (run_.world().runs(RankId(id))) launch(RankId(id), body);
  drive();
  drain();
  scheduler.pop();
  ended_fibers_.reset();
  for (std::size_t id = index_; id < run_.seats_.size(); id += run_.workers_.size())
    run_.seats_[id].identity.release();
  guard_.reset();
  DataMode::set_shapes_only(outer_shapes_only);
  make_current(outer);
}

void Worker::drive() {
  if (index_ != 0) return suspend_root();
  do {
    gives_up_turn_ = true;
    suspend_root();
    if (guard_) guard_->leave();
    run_.root_has_turn_ = false;
    make_current(nullptr);
  } while (!run_.settle());
  if (run_.has_one_thread()) return;
  boost::lock_guard<boost::mutex> lock(run_.turn_mutex_);
  run_.done_ = true;
  for (auto& worker : run_.workers_) worker->notify();
}

void Worker::suspend_root() {
  root_->suspend();
  root_identity_.arrive();
}

// The dispatcher destroys the fibers that have ended, then picks again: the root.
void Worker::drain() {
  draining_ = true;
  FiberScheduler::of_this_thread().go_through_dispatcher();
  suspend_root();
  draining_ = false;
}

boost::fibers::context* Worker::next_context() noexcept {
  if (draining_) return root_;
  if (prepared_) return std::exchange(prepared_, nullptr);
  if (!run_.has_one_thread()) return next_of_several();
  RankId next = run_.choose();
  if (next == no_rank) return root_;
  resuming_ = &run_.seats_[next];
  return resuming_->context;
}

boost::fibers::context* Worker::next_of_several() {
  boost::unique_lock<boost::mutex> lock(run_.turn_mutex_);
  if (std::exchange(gives_up_turn_, false)) run_.pass_turn();
  for (;;) {
    if (run_.turn_ != no_rank && &run_.worker_of(run_.turn_) == this) {
      Run::Seat& seat = run_.seats_[run_.turn_];
      if (seat.turn == Run::Turn::released || seat.turn == Run::Turn::waiting) {
        seat.turn = Run::Turn::held;
        resuming_ = &seat;
        return seat.context;
      }
    }
    if (run_.done_ || (index_ == 0 && run_.root_has_turn_)) return root_;
    if (!released_.empty()) {
      Run::Seat& seat = run_.seats_[released_.front()];
      released_.pop_front();
      if (seat.turn != Run::Turn::released) continue;
      seat.turn = Run::Turn::ahead;
      resuming_ = &seat;
      return seat.context;
    }
    changed_.wait(lock);
  }
}

}  // namespace simmesh
