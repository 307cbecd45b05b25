#include "core/engine/run/deadlines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// If this fails, ranks wake too early, too late or in an order that depends on who came first.
TEST(Deadlines, PassToTheEarliestMoment) {
  Deadlines deadlines;
  EXPECT_TRUE(deadlines.empty());
  EXPECT_THAT(deadlines.pass(), IsEmpty());
  deadlines.add(4, 2.0);
  deadlines.add(1, 3.0);
  deadlines.add(2, 2.0);
  EXPECT_EQ(deadlines.seconds(), 0);
  EXPECT_THAT(deadlines.pass(), ElementsAre(2, 4));
  EXPECT_EQ(deadlines.seconds(), 2.0);
  EXPECT_THAT(deadlines.pass(), ElementsAre(1));
  EXPECT_EQ(deadlines.seconds(), 3.0);
  EXPECT_TRUE(deadlines.empty());
}

// If this fails, a rank that was woken in time is told that it was late, or the reverse.
TEST(Deadlines, KnowWhoseDeadlineCame) {
  Deadlines deadlines;
  deadlines.add(0, 1.0);
  deadlines.add(1, 2.0);
  deadlines.pass();
  EXPECT_TRUE(deadlines.has_come(0));
  EXPECT_FALSE(deadlines.has_come(1));
  EXPECT_FALSE(deadlines.remove(0, 1.0));
  EXPECT_FALSE(deadlines.has_come(0));
  EXPECT_TRUE(deadlines.remove(1, 2.0));
  EXPECT_TRUE(deadlines.empty());
}

// If this fails, a run whose ranks only sleep never ends.
TEST(Deadlines, LeaveTimeAsItIsAfterAnHour) {
  Deadlines deadlines;
  deadlines.add(0, 3600.0);
  deadlines.add(1, 3600.5);
  EXPECT_THAT(deadlines.pass(), ElementsAre(0));
  EXPECT_THAT(deadlines.pass(), IsEmpty());
  EXPECT_EQ(deadlines.seconds(), 3600.0);
  EXPECT_FALSE(deadlines.empty());
}

// Sleepers wake in the order of their times, whoever ran first.
TEST(DeadlinesOfARun, PassOnlyWhenNoRankCanRun) {
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

// If this fails, a receive with a deadline loses its message, or waits beyond the deadline.
TEST(DeadlinesOfARun, EndAWaitUnlessSomebodyWakesTheRank) {
  run_every_schedule(3, [](Rank& rank) {
    auto& run = rank.run();
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

struct Late {
  bool is_woken = false;
};

// After a deadline has come, and before its rank goes on, another rank may come to wake it. If this
// fails, that breaks the run.
TEST(DeadlinesOfARun, AWakeThatComesTooLateDoesNothing) {
  run_every_schedule(2, [](Rank& rank) {
    auto& run = rank.run();
    run.take_turn(rank);
    EXPECT_FALSE(run.block_until(rank, {.operation = "doze"}, 1.0));
    if (std::exchange(run.state<Late>().is_woken, true)) return;
    EXPECT_FALSE(run.wakes(1 - rank.id()));
    run.wake(1 - rank.id());
  });
}

TEST(DeadlinesOfARun, RefuseTimesThatAreNone) {
  Outcome outcome = World({.ranks = 1}).run([](Rank& rank) { rank.sleep(-1); });
  EXPECT_THAT(report(outcome), HasSubstr("expected a time of at least 0 s, got -1"));
}

// A rank that polls for what a failed one would have done must not keep the run from ending.
TEST(DeadlinesOfARun, DoNotPassOnceARankHasFailed) {
  Outcome outcome = World({.ranks = 2}).run([](Rank& rank) {
    if (rank.id() == 0) throw Error(ErrorKind::runtime_error, "test", "gone");
    for (;;) rank.sleep(1);
  });
  EXPECT_THAT(report(outcome), HasSubstr("[test] gone"));
}

TEST(DeadlinesOfARun, RanksThatOnlySleepAreAHang) {
  Outcome outcome = World({.ranks = 2}).run([](Rank& rank) {
    for (;;) rank.sleep(60);
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure->kind, Failure::Kind::deadlock);
  EXPECT_THAT(report(outcome), HasSubstr("rank 1: waited in sleep"));
}

}  // namespace
}  // namespace simmesh
