#include "core/engine/schedules/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "core/check/error.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

std::vector<RankId> picks(const Schedule& schedule, std::size_t ranks, std::uint64_t seed) {
  auto policy = schedule.make_policy(ranks, seed);
  for (RankId rank = 0; rank < ranks; ++rank) policy->add(rank);
  std::vector<RankId> order;
  for (std::size_t i = 0; i < ranks; ++i) order.push_back(policy->pick());
  return order;
}

TEST(Schedule, FifoPicksInTheOrderOfArrival) {
  auto policy = Schedule::fifo().make_policy(3, 0);
  policy->add(2);
  policy->add(0);
  EXPECT_EQ(policy->pick(), 2u);
  policy->add(2);
  EXPECT_EQ(policy->pick(), 0u);
  EXPECT_EQ(policy->pick(), 2u);
}

TEST(Schedule, EveryPolicyPicksEachRankOnce) {
  for (const char* name : {"fifo", "seeded", "seeded:7", "pct:1", "pct:3"}) {
    for (std::size_t ranks : {1, 2, 5, 64}) {
      std::vector<RankId> order = picks(Schedule::parse(name), ranks, 3);
      EXPECT_EQ(std::set<RankId>(order.begin(), order.end()).size(), ranks) << name;
    }
  }
}

TEST(Schedule, SeedsDecideAndOnlyTheyDo) {
  EXPECT_EQ(picks(Schedule::seeded(), 20, 1), picks(Schedule::seeded(1), 20, 99));
  EXPECT_NE(picks(Schedule::seeded(), 20, 1), picks(Schedule::seeded(), 20, 2));
  EXPECT_EQ(picks(Schedule::pct({.depth = 3}), 20, 1), picks(Schedule::pct({.depth = 3}), 20, 1));
  EXPECT_NE(picks(Schedule::pct({.depth = 3}), 20, 1), picks(Schedule::pct({.depth = 3}), 20, 2));
}

// With depth 2 and drops among the first 20 steps, some seed must run a rank to its end before
// another one starts.
TEST(Schedule, PctStarvesARankThatIsLow) {
  auto policy = Schedule::pct({.depth = 1}).make_policy(3, 5);
  for (RankId rank = 0; rank < 3; ++rank) policy->add(rank);
  RankId highest = policy->pick();
  for (int i = 0; i < 10; ++i) {
    policy->add(highest);
    EXPECT_EQ(policy->pick(), highest);
  }
}

TEST(Schedule, ReplayFollowsAndFailsRatherThanGuess) {
  auto policy = Schedule::replay("1,0,1").make_policy(2, 0);
  policy->add(0);
  policy->add(1);
  EXPECT_EQ(policy->pick(), 1u);
  EXPECT_EQ(policy->pick(), 0u);
  policy->add(0);
  EXPECT_EQ(policy->pick(), no_rank);
  EXPECT_THAT(policy->error(), ::testing::HasSubstr("choice 2 of the recorded schedule is rank 1"));
}

TEST(Schedule, ReplayFailsWhereItEndsEarly) {
  auto policy = Schedule::replay("0").make_policy(2, 0);
  policy->add(0);
  policy->add(1);
  EXPECT_EQ(policy->pick(), 0u);
  EXPECT_EQ(policy->pick(), no_rank);
  EXPECT_THAT(policy->error(), ::testing::HasSubstr("ends after 1 choices"));
}

TEST(Schedule, ChoicesAreReadAsTheyAreWritten) {
  std::vector<RankId> choices = {0, 1, 1, 1, 2, 0, 0};
  EXPECT_EQ(choices_to_string(choices), "0,1*3,2,0*2");
  EXPECT_EQ(choices_from_string("0,1*3,2,0*2\n"), choices);
  EXPECT_TRUE(choices_from_string("").empty());
}

TEST(Schedule, BadWordsAreRefused) {
  for (const char* text : {"", "fif", "pct:", "pct:0", "pct:x", "seeded:", "seeded:-1",
                           "replay:", "replay:/no/such/file"})
    EXPECT_THROW(Schedule::parse(text), Error) << text;
  for (const char* text : {"a", "1,,2", "1*", "*2", "1*-1", "4294967296*99999999999"})
    EXPECT_THROW(choices_from_string(text), Error) << text;
}

TEST(Schedule, GuidedTurnsComeFirstAndThenFifo) {
  auto order_of = [](const char* schedule) {
    std::vector<RankId> order;
    World({.ranks = 4, .schedule = Schedule::parse(schedule)}).run([&](Rank& rank) {
      order.push_back(rank.id());
    });
    return order;
  };
  EXPECT_EQ(order_of("guided:"), (std::vector<RankId>{0, 1, 2, 3}));
  EXPECT_EQ(order_of("guided:2,2,9,1"), (std::vector<RankId>{2, 1, 0, 3}));
  EXPECT_EQ(Schedule::parse("guided:3*2,1").name(), "guided:3*2,1");
  EXPECT_THROW(Schedule::parse("guided:x"), Error);
}

}  // namespace
}  // namespace simmesh
