#include "core/engine/ranks/call_contents.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"

// If one of these fails, ranks add up gradients of different parameters of one size without a word.
namespace simmesh {
namespace {

TEST(CallContents, TheInnermostScopeOfTheRankCounts) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:2"}) {
    World world({.ranks = 3, .schedule = Schedule::parse(schedule)});
    Outcome outcome = world.run([](Rank& rank) {
      std::string name = "weight" + std::to_string(rank.id());
      CallContents outer(name);
      rank.yield();
      {
        CallContents inner("inner");
        rank.yield();
        EXPECT_EQ(CallContents::current(), "inner");
      }
      rank.yield();
      EXPECT_EQ(CallContents::current(), name);
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  }
  EXPECT_EQ(CallContents::current(), "");
}

TEST(CallContents, TheFirstDifferenceIsNamed) {
  auto difference = [](std::string_view first, std::string_view second) {
    auto [one, other] = difference_of_contents(first, second);
    return std::string(one) + "|" + std::string(other);
  };
  EXPECT_EQ(difference("a, b, c", "a, d, c"), "b|d");
  EXPECT_EQ(difference("a", "a, b"), "nothing more|b");
  EXPECT_EQ(difference("a, b", "a, b"), "|");
  EXPECT_EQ(difference("", "a"), "|");
}

}  // namespace
}  // namespace simmesh
