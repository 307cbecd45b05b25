#pragma once

#include <functional>

#include "core/engine/run/run.h"
#include "core/engine/seats/lane.h"

namespace simmesh {

// Worker runs the fibers of a lane's ranks on one thread.
class Worker {
 public:
  // run_all runs a body on all ranks of a run that has started, on as many threads as it has lanes,
  // of which the caller's is the first. Returns when all ranks have ended.
  static void run_all(Run& run, const std::function<void(Rank&)>& body);

 private:
  Worker(Run& run, std::size_t index) : run_(run), lane_(*run.lanes_[index]), index_(index) {}

  void work(const std::function<void(Rank&)>& body);
  void launch(RankId rank, const std::function<void(Rank&)>& body);
  void drive();
  void suspend_root();
  void drain();

  Run& run_;
  Lane& lane_;
  std::size_t index_;
};

}  // namespace simmesh
