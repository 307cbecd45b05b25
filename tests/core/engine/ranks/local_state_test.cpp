#include "core/engine/ranks/local_state.h"

#include <gtest/gtest.h>
#include <thread>

#include "core/engine/world.h"

namespace simmesh {
namespace {

struct Counter {
  int value = 0;
};

// If this fails, ranks share what a layer remembers of each of them, or a run sees what an earlier
// one left.
TEST(LocalState, BelongsToTheRankAndTheRun) {
  World world({.ranks = 3, .threads = 2});
  for (int run = 0; run < 2; ++run)
    world
        .run([](Rank& rank) {
          EXPECT_EQ(local_state<Counter>().value, 0);
          local_state<Counter>().value = int(rank.id()) + 1;
          EXPECT_EQ(local_state<Counter>().value, int(rank.id()) + 1);
        })
        .rethrow();
}

TEST(LocalState, OutsideOfAWorldItIsTheThreads) {
  local_state<Counter>().value = 7;
  World({.ranks = 1}).run([](Rank&) { local_state<Counter>().value = 9; }).rethrow();
  EXPECT_EQ(local_state<Counter>().value, 7);
  std::thread([] { EXPECT_EQ(local_state<Counter>().value, 0); }).join();
}

}  // namespace
}  // namespace simmesh
