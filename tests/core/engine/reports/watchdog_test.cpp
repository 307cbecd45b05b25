#include "core/engine/reports/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "core/engine/reports/crash_report.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

// A report reads what the stuck thread wrote without any agreement between the two.
#if !defined(SIMMESH_TSAN)

using ::testing::AllOf;
using ::testing::HasSubstr;

WorldOptions watched(double seconds, std::size_t threads = 1) {
  return {.ranks = 2, .threads = threads, .timeout_seconds = seconds, .program = "./train"};
}

void run_forever(const WorldOptions& options) {
  World(options).run([](Rank& rank) {
    rank.yield();
    rank.run().take_turn(rank);
    if (rank.id() == 0) rank.run().block(rank, {.operation = "waiting"});
    for (volatile bool forever = true; forever;) {
    }
  });
}

TEST(WatchdogDeathTest, ARankThatNeverGivesUpItsTurnIsNamedWithWhereTheOthersStand) {
  for (std::size_t threads : {1, 2})
    EXPECT_EXIT(run_forever(watched(0.2, threads)), ::testing::ExitedWithCode(crash_status),
                AllOf(HasSubstr("[engine/timeout] rank 1 has not given up its turn for 0.2 s"),
                      HasSubstr("rank 0: waited in waiting"), HasSubstr("calls, the innermost"),
                      HasSubstr("reproduce: ./train --seed 0 --schedule fifo")));
}

TEST(WatchdogDeathTest, AMutexHeldWhileItsHolderWaitsIsReported) {
  auto hold = [] {
    std::mutex mutex;
    World(watched(0.2)).run([&](Rank& rank) {
      std::lock_guard lock(mutex);
      rank.yield();
    });
  };
  EXPECT_EXIT(hold(), ::testing::ExitedWithCode(crash_status),
              HasSubstr("rank 1 has not given up its turn"));
}

// The outer World's step stands still as well, but only the inner one is stuck.
TEST(WatchdogDeathTest, OfNestedWorldsTheInnermostIsReported) {
  auto nest = [] {
    World(watched(0.2)).run([](Rank&) {
      WorldOptions inner = watched(0);
      inner.program = "./inner";
      run_forever(inner);
    });
  };
  EXPECT_EXIT(nest(), ::testing::ExitedWithCode(crash_status),
              AllOf(HasSubstr("rank 1 has not given up its turn for 0.2 s"),
                    HasSubstr("reproduce: ./inner")));
}

#endif

// Steps, heartbeats and Worlds inside of ranks are signs of life.
TEST(Watchdog, LetsRunsGoOnThatTakeLongerThanTheTimeout) {
  auto work = [](Rank& rank) {
    for (int i = 0; i < 7; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (i % 2 == 0)
        rank.yield();
      else
        rank.heartbeat();
    }
  };
  World world({.ranks = 1, .timeout_seconds = 1});
  Outcome outcome = world.run([&](Rank& rank) {
    work(rank);
    World({.ranks = 1}).run(work);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

TEST(Watchdog, IsNeededForATimeoutOnly) {
  EXPECT_TRUE(Watchdog::is_needed(std::chrono::seconds(1)));
  EXPECT_FALSE(Watchdog::is_needed(std::chrono::seconds(0)));
}

}  // namespace
}  // namespace simmesh
