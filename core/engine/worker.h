#pragma once

#include <boost/fiber/context.hpp>
#include <boost/thread/condition_variable.hpp>
#include <deque>
#include <functional>
#include <optional>

#include "core/engine/ended_fibers.h"
#include "core/engine/run.h"
#include "core/engine/stack_guard.h"

namespace simmesh {

// Worker runs the fibers of its ranks on one thread. Its root is the fiber that called it:
// World::run's caller for worker 0, the thread's own otherwise.
class Worker {
 public:
  Worker(Run& run, std::size_t index) : run_(run), index_(index) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // work makes the fibers of this worker's ranks on the current thread, runs them until the run is
  // done and frees them.
  void work(const std::function<void(Rank&)>& body);

  // next_context returns the fiber that goes on when the current one stops. Called by the thread's
  // FiberScheduler.
  boost::fibers::context* next_context() noexcept;
  // resume_after lets the given fiber go on once the dispatcher has run.
  void resume_after_dispatcher(boost::fibers::context* context) { prepared_ = context; }

  // current_context returns the fiber that the thread is on, as go_on_as was told; null for the
  // dispatcher.
  const boost::fibers::context* current_context() const { return current_context_; }
  void go_on_as(const boost::fibers::context* context) { current_context_ = context; }

  // exceptions returns the state of the thread.
  ExceptionState& exceptions() { return *exceptions_; }

  // identity_of returns the sanitizers' view of a fiber of this worker.
  FiberIdentity* identity_of(const boost::fibers::context* context);
  FiberIdentity*& current_identity() { return current_identity_; }
  bool current_has_ended() const { return current_has_ended_; }

  // ended_fibers is what the dispatcher runs as.
  EndedFibers& ended_fibers() { return *ended_fibers_; }

  // arrived makes the seat's rank the current one of the thread.
  void arrived(Run::Seat& seat);
  void give_up_turn() { gives_up_turn_ = true; }
  void mark_ended() { current_has_ended_ = true; }

  // release lets a woken rank run ahead. The caller has the turn and, with several threads, the
  // mutex.
  void release(RankId rank);
  void notify() { changed_.notify_one(); }

 private:
  void launch(RankId rank, const std::function<void(Rank&)>& body);
  void drive();
  void suspend_root();
  void drain();
  boost::fibers::context* next_of_several();

  Run& run_;
  std::size_t index_;
  boost::fibers::context* root_ = nullptr;
  boost::fibers::context* prepared_ = nullptr;
  const boost::fibers::context* current_context_ = nullptr;
  ExceptionState* exceptions_ = nullptr;
  FiberIdentity root_identity_;
  FiberIdentity* current_identity_ = nullptr;
  std::optional<EndedFibers> ended_fibers_;
  std::optional<StackGuard> guard_;
  const Run::Seat* resuming_ = nullptr;
  std::deque<RankId> released_;
  boost::condition_variable changed_;
  bool gives_up_turn_ = false;
  bool draining_ = false;
  bool current_has_ended_ = false;
};

}  // namespace simmesh
