#pragma once

#include "core/engine/fibers/stack_arena.h"
#include "core/engine/seats/lane.h"
#include "core/engine/seats/seated_run.h"

namespace simmesh {

// Worker runs the fibers of one lane of a run, on one thread.
class Worker {
 public:
  // run_all runs every seat of a run as a fiber, on as many threads as the run has lanes, of which
  // the caller's is the first. A seat's fiber has the stack of the same number. Returns when all
  // fibers have ended.
  static void run_all(SeatedRun& run, const StackArena& stacks);

 private:
  Worker(SeatedRun& run, const StackArena& stacks, std::size_t index)
      : run_(run), stacks_(stacks), lane_(run.turns().lane(index)), is_first_(index == 0) {}

  void work();
  void launch(Seat& seat);
  void drive();
  void suspend_root();
  void drain();

  SeatedRun& run_;
  const StackArena& stacks_;
  Lane& lane_;
  bool is_first_;
};

}  // namespace simmesh
