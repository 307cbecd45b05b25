#include "core/engine/deputy.h"

#include <gmock/gmock.h>

#include "core/check/error.h"
#include "core/engine/explore.h"
#include "core/engine/run/shared.h"
#include "core/engine/world.h"
#include "core/memory/storage.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::error_text;
using ::testing::HasSubstr;

// Work runs in the order in which it was given, beside the body, under every schedule.
TEST(Deputy, DoesItsWorkInOrder) {
  run_every_schedule(
      3,
      [](Rank& rank) {
        auto done = std::make_shared<std::vector<int>>();
        std::vector<DeputyTask> tasks;
        for (int i = 0; i < 5; ++i)
          tasks.push_back(Deputy::of_this_rank(0).start([done, i] {
            this_rank().yield();
            done->push_back(i);
          }));
        tasks.back().wait();
        EXPECT_THAT(*done, ::testing::ElementsAre(0, 1, 2, 3, 4));
        for (const DeputyTask& task : tasks) {
          task.wait();
          EXPECT_TRUE(task.is_done());
          EXPECT_FALSE(task.has_failed());
        }
        rank.record(std::uint64_t(done->size()));
      },
      1);
}

// Deputies of one rank run side by side: neither could end if the other one had to end first. A
// policy with priorities would let one of them ask for ever.
TEST(Deputy, RunSideBySide) {
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2"}) {
    Shared<int> turn("turn", 0);
    auto take_turns = [&turn](int mine) {
      for (int i = 0; i < 3; ++i) {
        while (turn.use([](int& value) { return value % 2; }) != mine) {
        }
        turn.use([](int& value) { ++value; });
      }
    };
    World world({.ranks = 1, .deputies = 2, .schedule = Schedule::parse(schedule)});
    Outcome outcome = world.run([&](Rank&) {
      DeputyTask first = Deputy::of_this_rank(0).start([&] { take_turns(0); });
      DeputyTask second = Deputy::of_this_rank(1).start([&] { take_turns(1); });
      first.wait();
      second.wait();
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  }
}

// A run ends after its deputies, though no rank waits for them.
TEST(Deputy, EndsItsWorkBeforeTheRunEnds) {
  for (const char* schedule : {"fifo", "seeded:3", "pct:3"}) {
    int ended = 0;
    World world({.ranks = 4, .deputies = 1, .schedule = Schedule::parse(schedule)});
    for (int run = 1; run <= 2; ++run) {
      Outcome outcome = world.run([&](Rank&) {
        Deputy::of_this_rank(0).start([&] {
          for (int i = 0; i < 10; ++i) this_rank().yield();
          ++ended;
        });
      });
      EXPECT_TRUE(outcome.ok()) << report(outcome);
      EXPECT_EQ(ended, 4 * run);
      EXPECT_EQ(outcome.ranks, 4u);
    }
  }
}

// The schedule decides whether a rank or a deputy comes first, and the explorer tries both.
TEST(Deputy, IsExplored) {
  Shared<std::uint64_t> last("last", 0);
  Exploration found = explore({.ranks = 1, .deputies = 1}, [&](Rank& rank) {
    DeputyTask task =
        Deputy::of_this_rank(0).start([&] { last.use([](std::uint64_t& value) { value = 1; }); });
    last.use([](std::uint64_t& value) { value = 2; });
    task.wait();
    rank.record(last.use([](std::uint64_t& value) { return value; }));
  });
  EXPECT_TRUE(found.complete);
  EXPECT_FALSE(found.one_data_hash);
}

TEST(Deputy, TellsItsErrorToTheRankThatWaits) {
  run_every_schedule(
      2,
      [](Rank&) {
        DeputyTask task =
            Deputy::of_this_rank(0).start([] { raise(ErrorKind::value_error, "test", "no good"); });
        for (int i = 0; i < 2; ++i) EXPECT_THROW(task.wait(), Error);
        EXPECT_TRUE(task.has_failed());
        DeputyTask next = Deputy::of_this_rank(0).start([] {});
        next.wait();
      },
      1);
}

// An error that no rank hears of is no success.
TEST(Deputy, AnErrorThatNobodyWaitsForFailsTheRun) {
  for (const char* schedule : {"fifo", "seeded:3", "pct:3"}) {
    World world({.ranks = 2, .deputies = 1, .schedule = Schedule::parse(schedule)});
    Outcome outcome = world.run([](Rank& rank) {
      if (rank.id() == 1)
        Deputy::of_this_rank(0).start([] { raise(ErrorKind::value_error, "test", "no good"); });
    });
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.failure->rank, 1u);
    EXPECT_THAT(report(outcome), HasSubstr("no good"));
  }
}

// A rank that fails ends its deputy too; what the deputy's frames hold is destroyed.
TEST(Deputy, EndsWithItsRun) {
  auto held = std::make_shared<int>(1);
  World world({.ranks = 2, .deputies = 2});
  Outcome outcome = world.run([&](Rank& rank) {
    Deputy::of_this_rank(1).start([held] { this_rank().yield(); });
    if (rank.id() == 0) raise(ErrorKind::value_error, "test", "the body fails");
    Deputy::of_this_rank(0).start([held] {}).wait();
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(report(outcome), HasSubstr("the body fails"));
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Deputy, RefusesWhatIsNotThere) {
  World world({.ranks = 2, .deputies = 1});
  Outcome outcome = world.run([](Rank&) {
    EXPECT_THAT(error_text([] { Deputy::of_this_rank(1); }),
                HasSubstr("WorldOptions::deputies of at least 2, got 1"));
    Deputy::of_this_rank(0).start([] { EXPECT_THROW(Deputy::of_this_rank(0), Error); }).wait();
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_THROW(World({.ranks = 4, .deputies = 1, .shapes_only = true, .fold = true}), Error);
  EXPECT_THROW(World({.ranks = 1, .deputies = 17}), Error);
}

// A deputy has a number of its own in faults.
TEST(Deputy, CanBeKilled) {
  WorldOptions options{.ranks = 2, .deputies = 1};
  EXPECT_EQ(deputy_id(options, 1, 0), 3u);
  EXPECT_EQ(name_of(options, 3), "deputy 0 of rank 1");
  EXPECT_EQ(name_of(options, 1), "rank 1");
  EXPECT_EQ(rank_behind(options, 3), 1u);
  options.faults = {Fault::fail_allocation({.rank = 3, .allocation = 1})};
  Outcome outcome = World(options).run(
      [](Rank&) { Deputy::of_this_rank(0).start([] { Storage::make(8); }).wait(); });
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure->rank, 1u);
}

}  // namespace
}  // namespace simmesh
