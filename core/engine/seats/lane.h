#pragma once

#include <condition_variable>
#include <deque>
#include <optional>
#include <pthread.h>

#include "core/engine/seats/ended_fibers.h"
#include "core/engine/seats/seat.h"

namespace simmesh {

// Lane is what a run keeps of one of its threads: which fiber the thread is on, and which of its
// ranks were woken. A null Seat stands for the lane's root, the fiber that drives its ranks:
// World::run's caller on the first lane, the thread's own on the others.
struct Lane {
  boost::fibers::context* root = nullptr;
  // current is the fiber that the thread is on; null for the thread's dispatcher.
  const boost::fibers::context* current = nullptr;
  // suspends says that the fiber that the thread is on waits in the engine, and not in a primitive
  // of Boost.Fiber's.
  bool suspends = false;
  pthread_t thread = {};
  // Once the dispatcher has run, the thread goes on with this seat, or always with its root.
  std::optional<Seat*> after_dispatcher;
  bool is_draining = false;

  // The fibers that the sanitizers know, for switches between them.
  FiberIdentity root_identity;
  FiberIdentity* current_identity = nullptr;
  bool current_has_ended = false;
  std::optional<EndedFibers> ended_fibers;  // what the dispatcher runs as

  ExceptionState* exceptions = nullptr;  // the thread's

  // With several threads, under the run's mutex: woken ranks that may run ahead, and that there is
  // something to do.
  std::deque<RankId> released;
  std::condition_variable changed;
  bool gives_up_turn = false;

  // arrived is the first thing that a rank does when the thread goes on with it: makes it the
  // active one.
  void arrived(Seat& seat);
};

// make_active makes a rank, with its ledger and clock, the active one of the thread; null for none.
void make_active(Rank* rank);

}  // namespace simmesh
