#pragma once

#include <condition_variable>
#include <deque>
#include <optional>
#include <pthread.h>

#include "core/engine/fibers/ended_fibers.h"
#include "core/engine/seats/seat.h"

namespace simmesh {

// Lane is one thread of a run: the fiber that the thread is on, and those of its ranks that were
// woken. A null Seat stands for the lane's root, the fiber that drives the ranks: World::run's
// caller on the first lane, the thread's own fiber on the others.
struct Lane {
  boost::fibers::context* root = nullptr;
  // current is the fiber that the thread is on; null for the thread's dispatcher.
  const boost::fibers::context* current = nullptr;
  // suspends tells a fiber that waits in the engine from one that waits in a primitive of
  // Boost.Fiber.
  bool suspends = false;
  pthread_t thread = {};
  // After its dispatcher the thread continues with this seat, if there is one, or with its root.
  std::optional<Seat*> after_dispatcher;
  bool is_draining = false;

  // For the sanitizers, which are told of every switch.
  FiberIdentity root_identity;
  FiberIdentity* current_identity = nullptr;
  bool current_has_ended = false;
  std::optional<EndedFibers> ended_fibers;  // the dispatcher runs as them

  ExceptionState* exceptions = nullptr;  // the thread's

  // With several threads, under the mutex of Turns: woken ranks that may run ahead, and the signal
  // that there is something to do.
  std::deque<RankId> released;
  std::condition_variable changed;
  bool gives_up_turn = false;

  // arrived is called first when the thread continues with a rank. The rank is the active one from
  // then on.
  void arrived(Seat& seat);
};

// make_active makes a rank, with its ledger and clock, the active one of the thread; null for none.
void make_active(Rank* rank);

}  // namespace simmesh
