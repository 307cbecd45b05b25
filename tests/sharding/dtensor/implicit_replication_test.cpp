#include "sharding/dtensor/implicit_replication.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"

namespace simmesh {
namespace {

// A scope of one rank holds for others, or ends with the inner one.
TEST(ImplicitReplication, HoldsForItsRankAndScope) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank& rank) {
    if (rank.id() == 1) {
      EXPECT_FALSE(ImplicitReplication::is_on());
      return;
    }
    ImplicitReplication scope;
    { ImplicitReplication inner; }
    rank.yield();
    EXPECT_TRUE(ImplicitReplication::is_on());
  });
  EXPECT_TRUE(outcome.ok());
  EXPECT_FALSE(ImplicitReplication::is_on());
}

}  // namespace
}  // namespace simmesh
