#include "core/engine/seats/turns.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/check.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

// If this fails, two ranks change what they share at the same time.
TEST(Turns, OneRankAtATimeHasTheTurn) {
  std::atomic<int> holders = 0;
  run_every_schedule(6, [&](Rank& rank) {
    auto& run = rank.run();
    const Seat& seat = run.seats()[rank.id()];
    for (int i = 0; i < 20; ++i) {
      run.take_turn(rank);
      EXPECT_TRUE(run.turns().has(seat));
      EXPECT_EQ(++holders, 1);
      --holders;
      rank.yield();
    }
  });
}

// If this fails, ranks of several threads wait for one another although they share nothing.
TEST(Turns, AWokenRankRunsAheadOfItsTurn) {
  std::atomic<bool> is_ahead = false;
  World world({.ranks = 2, .threads = 2, .timeout_seconds = 60});
  Outcome outcome = world.run([&](Rank& rank) {
    if (rank.id() == 1) {
      is_ahead = true;  // the turn is still that of rank 0
      return;
    }
    rank.run().take_turn(rank);
    while (!is_ahead) {
    }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// If this fails, the number of threads changes the schedule.
TEST(Turns, AreTheSameForAnyNumberOfThreads) {
  for (const char* schedule : {"fifo", "seeded:4", "pct:4"}) {
    std::vector<RankId> choices;
    for (std::size_t threads : {1, 2, 3, 7}) {
      World world({.ranks = 7,
                   .schedule = Schedule::parse(schedule),
                   .threads = threads,
                   .record_choices = true});
      Outcome outcome = world.run([](Rank& rank) {
        for (RankId i = 0; i < 5 + rank.id(); ++i) rank.yield();
      });
      ASSERT_TRUE(outcome.ok()) << report(outcome);
      if (threads == 1) choices = outcome.choices;
      EXPECT_EQ(outcome.choices, choices) << schedule << " with " << threads << " threads";
    }
  }
}

// If this fails, a deputy runs at the same time as its rank, whose memory it uses.
TEST(Turns, PutADeputyOnTheLaneOfItsRank) {
  World world({.ranks = 3, .deputies = 2, .threads = 2});
  Outcome outcome = world.run([](Rank& rank) {
    auto& run = rank.run();
    EXPECT_EQ(run.turns().threads(), 2u);
    EXPECT_EQ(run.seats()[rank.id()].lane, &run.turns().lane(rank.id() % 2));
    for (std::size_t deputy : {0, 1})
      EXPECT_EQ(run.seats()[deputy_id(run.options(), rank.id(), deputy)].lane,
                run.seats()[rank.id()].lane);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// If this fails, threads are started that have no rank to run.
TEST(Turns, NeedNoMoreLanesThanRanks) {
  World({.ranks = 2, .threads = 5}).run([](Rank& rank) {
    EXPECT_EQ(rank.run().turns().threads(), 2u);
  });
}

// If this fails, a rank that ran ahead blocks while another one has the turn, and its wait is lost.
TEST(Turns, BlockingWithoutTheTurnIsRefused) {
  World world({.ranks = 2, .threads = 2});
  Outcome outcome = world.run([](Rank& rank) {
    rank.yield();
    const Seat& seat = rank.run().seats()[rank.id()];
    if (rank.run().turns().has(seat)) return;
    try {
      rank.run().block(rank, {.operation = "waiting"});
      ADD_FAILURE() << "expected a broken contract";
    } catch (const ContractViolation& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("blocks without the turn"));
    }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
