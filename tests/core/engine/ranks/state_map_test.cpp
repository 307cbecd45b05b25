#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

struct Count {
  std::uint64_t value = 0;
};
struct Other {
  std::uint64_t value = 7;
};

// One rank's state seen by another, lost at a switch, or shared by two types.
TEST(StateMap, EachRankKeepsItsOwn) {
  run_every_schedule(5, [](Rank& rank) {
    for (int i = 0; i < 3; ++i) {
      this_rank().state<Count>().value += rank.id() + 1;
      rank.run().yield(rank, CallSite::here());
    }
    EXPECT_EQ(this_rank().state<Count>().value, 3 * (rank.id() + 1));
    EXPECT_EQ(this_rank().state<Other>().value, 7u);
  });
}

// A value that moved when another rank or type came would leave scopes with a dangling pointer.
TEST(StateMap, StayWhereTheyAre) {
  run_every_schedule(4, [](Rank& rank) {
    Count& mine = this_rank().state<Count>();
    rank.run().yield(rank, CallSite::here());
    this_rank().state<Other>();
    rank.run().yield(rank, CallSite::here());
    EXPECT_EQ(&mine, &this_rank().state<Count>());
  });
}

TEST(StateMap, BeginAfreshInTheNextRun) {
  World world({.ranks = 2});
  for (int run = 0; run < 2; ++run) {
    Outcome outcome = world.run([](Rank&) { EXPECT_EQ(this_rank().state<Count>().value++, 0u); });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  }
  EXPECT_THROW(this_rank().state<Count>(), Error);
}

}  // namespace
}  // namespace simmesh
