#include "core/engine/seats/lane.h"

#include <gtest/gtest.h>

#include "core/clock/clock.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

// If this fails, a rank's tensors are charged to another rank after a switch, or to none.
TEST(Lane, TheRankThatRunsIsTheActiveOne) {
  run_every_schedule(5, [](Rank& rank) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(Rank::active(), &rank);
      EXPECT_EQ(Ledger::active(), &rank.ledger());
      EXPECT_EQ(Clock::active(), nullptr);
      rank.yield();
    }
  });
  EXPECT_EQ(Rank::active(), nullptr);
  EXPECT_EQ(Ledger::active(), nullptr);
}

// If this fails, operations of one rank take time on another rank's device.
TEST(Lane, TheActiveClockIsThatOfTheRank) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = 4,
                   .schedule = Schedule::parse(schedule),
                   .threads = threads,
                   .device = DeviceModel()});
      Outcome outcome = world.run([](Rank& rank) {
        for (int i = 0; i < 3; ++i) {
          EXPECT_NE(rank.clock(), nullptr);
          EXPECT_EQ(Clock::active(), rank.clock());
          rank.yield();
        }
      });
      EXPECT_TRUE(outcome.ok()) << report(outcome);
    }
}

// If this fails, a thread goes on charging a rank whose run has ended.
TEST(Lane, NoRankIsActiveWithoutOne) {
  World({.ranks = 1}).run([](Rank& rank) {
    make_active(nullptr);
    EXPECT_FALSE(in_rank());
    EXPECT_EQ(Ledger::active(), nullptr);
    make_active(&rank);
    EXPECT_EQ(&this_rank(), &rank);
    EXPECT_EQ(Ledger::active(), &rank.ledger());
  });
}

// If this fails, the engine takes a rank for one that waits in a primitive of Boost.Fiber, or the
// other way round.
TEST(Lane, KnowsWhichFiberTheThreadIsOn) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = 4, .schedule = Schedule::parse(schedule), .threads = threads});
      Outcome outcome = world.run([](Rank& rank) {
        const Seat& seat = rank.run().seats()[rank.id()];
        for (int i = 0; i < 3; ++i) {
          EXPECT_EQ(seat.lane->current, seat.context);
          EXPECT_NE(seat.lane->current, seat.lane->root);
          EXPECT_EQ(seat.lane->current_identity, &seat.identity);
          EXPECT_FALSE(seat.lane->suspends);
          EXPECT_FALSE(seat.lane->current_has_ended);
          EXPECT_TRUE(pthread_equal(seat.lane->thread, pthread_self()));
          rank.yield();
        }
      });
      EXPECT_TRUE(outcome.ok()) << report(outcome);
    }
}

}  // namespace
}  // namespace simmesh
