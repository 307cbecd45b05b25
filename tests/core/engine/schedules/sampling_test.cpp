#include "core/engine/schedules/sampling.h"

#include <gtest/gtest.h>
#include <map>

#include "core/engine/run/shared.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

std::string order_under(const Schedule& schedule, std::uint64_t seed, std::vector<int> uses) {
  std::string order;
  Shared<int> object("object", 0);
  World world({.ranks = uses.size(), .seed = seed, .schedule = schedule, .record_choices = true});
  Outcome outcome = world.run([&](Rank& rank) {
    for (int i = 0; i < uses[rank.id()]; ++i)
      object.use([&](int&) { order += char('0' + rank.id()); });
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return order;
}

// If this fails, a seed doesn't name a schedule, or all seeds give one schedule.
TEST(Sampling, ASeedNamesAScheduleOfItsOwn) {
  for (const char* text : {"pos", "walk", "walk:4,4,4"}) {
    std::map<std::string, int> orders;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      std::string order = order_under(Schedule::parse(text), seed, {3, 3, 3});
      EXPECT_EQ(order_under(Schedule::parse(text), seed, {3, 3, 3}), order) << text;
      ++orders[order];
    }
    EXPECT_GT(orders.size(), 20u) << text;
  }
  EXPECT_EQ(order_under(pos_schedule(7), 1, {3, 3}), order_under(pos_schedule(), 7, {3, 3}));
}

// If this fails, the walk prefers ranks with a short way, as a uniform choice does: of 2 uses and
// 18, the last use would nearly always be one of the 18. Among all interleavings of 3 steps and 19,
// 3 in 22 end with the short rank.
TEST(Sampling, AWalkGivesEachRankTheShareOfItsSteps) {
  int walks = 0, uniform = 0;
  constexpr int runs = 1'000;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    walks += order_under(walk_schedule({3, 19}), seed, {2, 18}).back() == '0';
    uniform += order_under(Schedule::seeded(), seed, {2, 18}).back() == '0';
  }
  EXPECT_GT(walks, runs / 11);
  EXPECT_LT(walks, runs / 5);
  EXPECT_LT(uniform, runs / 100);
}

// If this fails, orders of events that don't depend on each other take the chance of those that do:
// a long rank that uses its own object must not change which of two uses comes first.
TEST(Sampling, PosGivesBothOrdersOfARaceTheSameChance) {
  int first = 0;
  constexpr int runs = 1'000;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    Shared<int> raced("raced", -1), own("own", 0);
    World world({.ranks = 2, .seed = seed, .schedule = pos_schedule()});
    world.run([&](Rank& rank) {
      if (rank.id() == 0)
        for (int i = 0; i < 30; ++i) own.use([](int& value) { ++value; });
      raced.use([&](int& value) {
        first += value < 0 && rank.id() == 0;
        value = 1;
      });
    });
  }
  // A uniform choice would let the short rank come first in nearly all runs.
  EXPECT_GT(first, 20);
}

// If this fails, what comes before the step changes too, or nothing changes after it.
TEST(Sampling, AnotherSeedCountsFromAStepOn) {
  for (const char* text : {"seeded", "pos", "pct:3"}) {
    std::string base = order_under(Schedule::parse(text), 5, {6, 6, 6});
    bool differs = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Schedule schedule = reseeded_schedule(Schedule::parse(text), {.step = 12, .seed = seed});
      std::string order = order_under(schedule, 5, {6, 6, 6});
      EXPECT_EQ(order.substr(0, 9), base.substr(0, 9)) << text;
      EXPECT_EQ(order.size(), 18u);
      differs |= order != base;
    }
    EXPECT_TRUE(differs) << text;
  }
}

TEST(Sampling, CountsStepsByRank) {
  std::vector<RankId> choices = {0, 2, 2};
  EXPECT_EQ(steps_by_rank(choices), (std::vector<std::uint64_t>{1, 0, 2}));
}

}  // namespace
}  // namespace simmesh
