#pragma once

#include <vector>

#include <simmesh/core/engine/run.h>

namespace simmesh {

// RankSlots keeps one T a rank for one run: what a layer above remembers of each rank's program,
// such as the scopes it is in. No rank can see another's.
//
//   int& depth = RankSlots<int>::of_this_rank();
template <class T>
class RankSlots {
 public:
  // of_this_rank returns the slot of the rank that runs, which stays where it is until the run
  // ends. Takes the turn once; using the slot needs none. Throws a RuntimeError outside World::run.
  static T& of_this_rank() {
    Rank& rank = this_rank();
    Run& run = rank.run();
    run.take_turn(rank);
    std::vector<T>& slots = run.state<RankSlots>().slots_;
    if (slots.empty()) slots = std::vector<T>(run.world().ranks());
    return slots[rank.id()];
  }

 private:
  std::vector<T> slots_;
};

}  // namespace simmesh
