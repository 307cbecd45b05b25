#pragma once

#include "core/engine/fibers/stack_arena.h"
#include "core/engine/seats/seats.h"

namespace simmesh {

// FiberSeats gives every rank a fiber, on the thread that runs the World or on one of several.
class FiberSeats : public Seats {
 public:
  // The stacks, one for each seat, must outlive this object.
  explicit FiberSeats(const StackArena& stacks) : stacks_(stacks) {}

  void run_all(SeatedRun& run) override;
  void suspend(Seat& seat) override;
  // start breaks the contract: a rank on a fiber starts no threads.
  void start(Seat& seat) override;
  pthread_t thread_of(const Seat& seat) const override;

 private:
  const StackArena& stacks_;
};

}  // namespace simmesh
