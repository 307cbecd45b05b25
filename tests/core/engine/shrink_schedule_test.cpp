#include "core/engine/shrink_schedule.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "core/check/error.h"
#include "core/engine/run/shared.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

// Rank 2 fails if it reaches a counter before rank 0 does.
Outcome race(const Schedule& schedule) {
  Shared<int> counter("counter", 0);
  World world({.ranks = 4, .schedule = schedule, .record_choices = true});
  return world.run([&](Rank& rank) {
    for (int i = 0; i < 3; ++i) {
      int before = counter.use([&](int& value) {
        if (rank.id() == 0) value = 1;
        return value;
      });
      if (rank.id() == 2 && before == 0) raise(ErrorKind::runtime_error, "test", "too early");
    }
  });
}

std::optional<Outcome> failing(const Schedule& schedule) {
  Outcome outcome = race(schedule);
  if (outcome.ok()) return std::nullopt;
  return outcome;
}

// Only the turns that matter for the failure may be left, because a person reads the schedule.
TEST(ShrinkSchedule, LeavesOnlyTheTurnsThatMatter) {
  ASSERT_TRUE(race(Schedule::fifo()).ok());
  int shrunk_count = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto outcome = failing(Schedule::seeded(seed));
    if (!outcome) continue;
    auto shrunk = shrink_schedule({.choices = outcome->choices}, failing);
    ASSERT_TRUE(shrunk);
    EXPECT_LE(shrunk->turns.size(), 2u);
    EXPECT_LE(shrunk->turns.size(), outcome->choices.size());
    // The recorded choices replay the whole failing run.
    EXPECT_TRUE(failing(Schedule::replay(choices_to_string(shrunk->outcome.choices))));
    ++shrunk_count;
  }
  EXPECT_GT(shrunk_count, 3);
}

// A run is the expensive part: leaving out one of several equal turns gives one list, not several.
TEST(ShrinkSchedule, RunsNoListTwice) {
  std::set<std::string> seen;
  auto needs_three = [&](const Schedule& schedule) -> std::optional<Outcome> {
    EXPECT_TRUE(seen.insert(schedule.name()).second) << schedule.name();
    std::string list = schedule.name().substr(std::string("guided:").size());
    std::vector<RankId> turns = list.empty() ? std::vector<RankId>{} : choices_from_string(list);
    if (std::count(turns.begin(), turns.end(), RankId{1}) < 3) return std::nullopt;
    return race(Schedule::guided({2, 2}));
  };
  auto shrunk = shrink_schedule({.choices = {0, 1, 1, 1, 1, 1, 0, 0, 1, 2}}, needs_three);
  ASSERT_TRUE(shrunk);
  EXPECT_EQ(shrunk->turns, (std::vector<RankId>{1, 1, 1}));
}

TEST(ShrinkSchedule, WhatDoesNotFailIsNotShrunk) {
  EXPECT_FALSE(shrink_schedule({.choices = {0, 1, 2, 3}}, failing));
}

// Turns of ranks that can't run are skipped, and after the last turn the schedule is FIFO.
TEST(ShrinkSchedule, GuidedSchedulesTakeAnyTurns) {
  EXPECT_TRUE(race(Schedule::guided({})).ok());
  EXPECT_TRUE(race(Schedule::guided({0, 0, 0, 0, 0, 0, 0, 0, 3})).ok());
  EXPECT_FALSE(race(Schedule::guided({2, 2})).ok());
}

}  // namespace
}  // namespace simmesh
