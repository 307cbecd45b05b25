#include "core/engine/fibers/ended_fibers.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"

namespace simmesh {
namespace {

// Recurses, so that the fiber ends with many calls in its history.
[[gnu::noinline]] std::uint64_t deep(Rank& rank, int calls) {
  if (calls == 0) {
    rank.yield();
    return 1;
  }
  return deep(rank, calls - 1) + 1;
}

// The dispatcher frees all fibers of a run at once. If this fails, the thread sanitizer ends calls
// that the thread is still in, and then the program.
TEST(EndedFibers, AreFreedInAnyNumber) {
  for (std::size_t ranks : {1, 64, 1000})
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = ranks, .threads = threads});
      for (int run = 0; run < 2; ++run) {
        Outcome outcome = world.run([](Rank& rank) { rank.record(deep(rank, 20)); });
        EXPECT_TRUE(outcome.ok()) << report(outcome);
      }
    }
}

// If this fails, a run that never lets its dispatcher run leaves the sanitizer's history behind.
TEST(EndedFibers, CanBeMadeWithoutBeingEntered) {
  for (std::size_t fibers : {0, 1, 100'000}) EndedFibers ended(fibers);
}

}  // namespace
}  // namespace simmesh
