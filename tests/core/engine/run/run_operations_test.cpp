#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// If this fails, a rank goes on before it is woken, or not at all.
TEST(RunOperations, ABlockedRankGoesOnOnceItIsWoken) {
  bool is_given = false;
  run_every_schedule(4, [&](Rank& rank) {
    auto& run = rank.run();
    run.take_turn(rank);
    if (rank.id() == 0) is_given = false;
    rank.sleep(1);
    run.take_turn(rank);
    if (rank.id() > 0) {
      run.block(rank, {.operation = "receive"});
      run.take_turn(rank);
      EXPECT_TRUE(is_given);
      rank.record(std::uint64_t(is_given));
      return;
    }
    rank.sleep(1);
    run.take_turn(rank);
    is_given = true;
    for (RankId id = 1; id < 4; ++id) {
      EXPECT_TRUE(run.wakes(id));
      run.wake(id);
      EXPECT_FALSE(run.wakes(id));
    }
  });
}

// A wake that nobody waits for would be a rank's second place in the schedule.
TEST(RunOperations, ARankThatIsNotBlockedCanNotBeWoken) {
  Outcome outcome = World({.ranks = 2}).run([](Rank& rank) {
    if (rank.id() == 0) rank.run().wake(1);
  });
  EXPECT_THAT(report(outcome), HasSubstr("rank 1 is woken, but it isn't blocked"));
  EXPECT_THROW(outcome.rethrow(), ContractViolation);
}

// If this fails, operations aren't what a fault plan and the crash reports count.
TEST(RunOperations, CountsOperationsAndRemembersTheLast) {
  run_every_schedule(3, [](Rank& rank) {
    EXPECT_EQ(rank.run().last_operation(rank.id()).name, nullptr);
    for (std::uint64_t i = 1; i <= 3; ++i) {
      EXPECT_EQ(rank.run().begin_operation(rank, "barrier", {"a.cpp", 7}), nullptr);
      EXPECT_EQ(rank.operations(), i);
    }
    rank.yield();
    EXPECT_STREQ(rank.run().last_operation(rank.id()).name, "barrier");
    EXPECT_EQ(rank.run().last_operation(rank.id()).site.line, 7u);
  });
}

// If this fails, a fault acts at another operation, or on another rank.
TEST(RunOperations, AFaultIsGivenToItsOperationOnly) {
  World world({.ranks = 2,
               .faults = {Fault::starve(0), Fault::abandon({.rank = 1, .operation = 2}),
                          Fault::fail_allocation({.rank = 1, .allocation = 9})}});
  Outcome outcome = world.run([](Rank& rank) {
    for (int i = 1; i <= 3; ++i) {
      const Fault* fault = rank.run().begin_operation(rank, "wait", CallSite());
      EXPECT_EQ(fault && fault->kind == Fault::Kind::abandon, rank.id() == 1 && i == 2);
    }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_EQ(outcome.steps, 2u) << "without a fault an operation is no choice of the schedule";
}

// If this fails, a yield doesn't let others run, or a touch isn't a point of the schedule.
TEST(RunOperations, YieldsAndTouchesAreStepsOfTheSchedule) {
  World world({.ranks = 2, .record_choices = true});
  Outcome outcome = world.run([](Rank& rank) {
    rank.yield();
    rank.run().touch(rank, 5, CallSite());
    rank.run().touches().mark_sensitive(5);
  });
  EXPECT_EQ(choices_to_string(outcome.choices), "0,1,0,1,0,1");
  ASSERT_EQ(outcome.touches.size(), 2u);
  EXPECT_EQ(outcome.touches[0].step, 5u);
  EXPECT_EQ(outcome.touches[1].step, 6u);
}

// If this fails, work in the background starts before it is given, or the run waits for it for
// ever.
TEST(RunOperations, ARestingDeputyIsNoReasonToWait) {
  std::vector<RankId> order;
  World world({.ranks = 2, .deputies = 1});
  Outcome outcome = world.run([&](Rank& rank) {
    auto& run = rank.run();
    RankId deputy = deputy_id(run.options(), rank.id(), 0);
    EXPECT_EQ(run.seats()[deputy].state, Seat::State::idle);
    if (rank.id() == 1) run.rouse(deputy);
    run.rouse(deputy);
    EXPECT_EQ(run.seats()[deputy].state, Seat::State::runnable);
    rank.yield();
    EXPECT_EQ(run.seats()[deputy].state, Seat::State::idle) << "it found no work";
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// If this fails, ranks that unwind on several threads change what they share at the same time.
TEST(RunOperations, ARankWhoseRunEndsHasTheTurn) {
  constexpr std::size_t ranks = 6;
  for (const char* schedule : {"fifo", "seeded:3", "pct:3"})
    for (bool sleeps : {false, true}) {
      std::size_t ended = 0;  // of a plain type: each rank changes it in its turn
      World world({.ranks = ranks, .schedule = Schedule::parse(schedule), .threads = 3});
      Outcome outcome = world.run([&](Rank& rank) {
        auto& run = rank.run();
        run.take_turn(rank);
        if (rank.id() == 0) raise(ErrorKind::value_error, "test", "rank 0 gives up");
        try {
          if (sleeps) rank.sleep(1 + rank.id());
          run.block(rank, {.operation = "receive"});
        } catch (const RankEnded&) {
          EXPECT_TRUE(run.turns().has(run.seats()[rank.id()]));
          ++ended;
          throw;
        }
      });
      EXPECT_THAT(report(outcome), HasSubstr("rank 0 gives up"));
      EXPECT_EQ(ended, ranks - 1);
    }
}

// If this fails, a program that computes for long looks stuck to the watchdog.
TEST(RunOperations, HeartbeatsAreProgress) {
  World({.ranks = 1}).run([](Rank& rank) {
    std::uint64_t before = rank.run().progress();
    rank.heartbeat();
    EXPECT_EQ(rank.run().progress(), before + 1);
    EXPECT_EQ(rank.run().step(), 1u);
  });
}

}  // namespace
}  // namespace simmesh
