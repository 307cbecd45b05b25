#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// Sleepers wake in the order of their times, whoever ran first.
TEST(RunTime, PassesOnlyWhenNoRankCanRun) {
  run_every_schedule(4, [](Rank& rank) {
    double seconds = 0.5 * (4 - rank.id());
    rank.sleep(seconds);
    EXPECT_EQ(rank.seconds(), seconds);
    rank.sleep(0);
    EXPECT_EQ(rank.seconds(), seconds);
    rank.sleep(100);
    rank.record(std::uint64_t(rank.seconds() * 2));
  });
}

TEST(RunTime, ADeadlineEndsAWaitUnlessSomebodyWakesTheRank) {
  run_every_schedule(3, [](Rank& rank) {
    simmesh::Run& run = rank.run();
    run.take_turn(rank);
    if (rank.id() == 0) {
      EXPECT_FALSE(run.block_until(rank, {.operation = "doze"}, 2.0));
      EXPECT_EQ(run.seconds(), 2.0);
    } else if (rank.id() == 1) {
      EXPECT_TRUE(run.block_until(rank, {.operation = "doze"}, 9.0));
      EXPECT_EQ(run.seconds(), 3.0);
    } else {
      rank.sleep(3.0);
      run.take_turn(rank);
      run.wake(1);
    }
  });
}

TEST(RunTime, BeginsAnewInEachRun) {
  World world({.ranks = 1});
  for (int i = 0; i < 2; ++i)
    world.run([](Rank& rank) {
      EXPECT_EQ(rank.seconds(), 0);
      rank.sleep(1.5);
    });
}

TEST(RunTime, RefusesTimesThatAreNone) {
  Outcome outcome = World({.ranks = 1}).run([](Rank& rank) { rank.sleep(-1); });
  EXPECT_THAT(report(outcome), HasSubstr("expected a time of at least 0 s, got -1"));
}

// A rank that polls for what a failed one would have done must not keep the run from ending.
TEST(RunTime, DoesNotPassOnceARankHasFailed) {
  Outcome outcome = World({.ranks = 2}).run([](Rank& rank) {
    if (rank.id() == 0) throw Error(ErrorKind::runtime_error, "test", "gone");
    for (;;) rank.sleep(1);
  });
  EXPECT_THAT(report(outcome), HasSubstr("[test] gone"));
}

TEST(RunTime, RanksThatOnlySleepAreAHang) {
  Outcome outcome = World({.ranks = 2}).run([](Rank& rank) {
    for (;;) rank.sleep(60);
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure->kind, Failure::Kind::deadlock);
  EXPECT_THAT(report(outcome), HasSubstr("rank 1: waited in sleep"));
}

}  // namespace
}  // namespace simmesh
