#include <gtest/gtest.h>

#include <simmesh/core/check/error.h>
#include <simmesh/core/engine/rank_slots.h>
#include <simmesh/tests/core/engine/every_schedule.h>

namespace simmesh {
namespace {

struct Count {
  std::uint64_t value = 0;
};
struct Other {
  std::uint64_t value = 7;
};

// One rank's state seen by another, lost at a switch, or shared by two types.
TEST(RankSlots, EachRankKeepsItsOwn) {
  run_every_schedule(5, [](Rank& rank) {
    for (int i = 0; i < 3; ++i) {
      RankSlots<Count>::of_this_rank().value += rank.id() + 1;
      rank.run().yield(rank, CallSite::here());
    }
    EXPECT_EQ(RankSlots<Count>::of_this_rank().value, 3 * (rank.id() + 1));
    EXPECT_EQ(RankSlots<Other>::of_this_rank().value, 7u);
  });
}

// A slot that moved when another rank or type came would leave scopes with a dangling pointer.
TEST(RankSlots, StayWhereTheyAre) {
  run_every_schedule(4, [](Rank& rank) {
    Count& mine = RankSlots<Count>::of_this_rank();
    rank.run().yield(rank, CallSite::here());
    RankSlots<Other>::of_this_rank();
    rank.run().yield(rank, CallSite::here());
    EXPECT_EQ(&mine, &RankSlots<Count>::of_this_rank());
  });
}

TEST(RankSlots, BeginAfreshInTheNextRun) {
  World world({.ranks = 2});
  for (int run = 0; run < 2; ++run) {
    Outcome outcome =
        world.run([](Rank&) { EXPECT_EQ(RankSlots<Count>::of_this_rank().value++, 0u); });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  }
  EXPECT_THROW(RankSlots<Count>::of_this_rank(), Error);
}

}  // namespace
}  // namespace simmesh
