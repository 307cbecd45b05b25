#include "core/engine/reports/interrupt.h"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/explore.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Cleared {
  ~Cleared() { Interrupt::clear(); }
};

TEST(Interrupt, ARunEndsAndItsReportSaysWhereEachRankStands) {
  Cleared afterwards;
  for (const char* schedule : {"fifo", "seeded:3", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      Interrupt::clear();
      World world({.ranks = 3, .schedule = Schedule::parse(schedule), .threads = threads});
      Outcome outcome = world.run([](Rank& rank) {
        rank.run().take_turn(rank);
        if (rank.id() == 0) rank.run().block(rank, {.operation = "waiting"});
        for (;;) {
          rank.yield();
          if (rank.run().step() > 50) Interrupt::request();
        }
      });
      ASSERT_TRUE(outcome.failure);
      EXPECT_EQ(outcome.failure->kind, Failure::Kind::interrupt);
      EXPECT_EQ(outcome.live_storages, 0);
      EXPECT_THAT(report(outcome),
                  AllOf(HasSubstr("[engine/interrupt] interrupted, 3 of 3 ranks have not returned"),
                        HasSubstr("rank 0: waited in waiting"), HasSubstr("reproduce:")));
    }
}

// A world of one rank never gives up its turn by itself.
TEST(Interrupt, AHeartbeatEndsARun) {
  Cleared afterwards;
  World world({.ranks = 1});
  Outcome outcome = world.run([](Rank& rank) {
    rank.heartbeat();
    Interrupt::request();
    for (;;) rank.heartbeat();
  });
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->kind, Failure::Kind::interrupt);
}

TEST(Interrupt, LaterRunsEndAtTheirStartUntilItIsCleared) {
  Cleared afterwards;
  Interrupt::request();
  World world({.ranks = 2});
  EXPECT_EQ(world.run([](Rank&) {}).steps, 0u);
  EXPECT_FALSE(explore({.ranks = 2}, [](Rank&) {}).complete);
  Interrupt::clear();
  EXPECT_TRUE(world.run([](Rank&) {}).ok());
}

#if !defined(SIMMESH_TSAN)

void run_after_sigint(const std::function<void(Rank&)>& body) {
  Interrupt::on_sigint();
  World world({.ranks = 2, .program = "./train"});
  Outcome outcome = world.run([&](Rank& rank) {
    rank.yield();
    if (rank.id() == 1) std::raise(SIGINT);
    body(rank);
  });
  std::fputs(report(outcome).c_str(), stderr);
  std::_Exit(outcome.failure->kind == Failure::Kind::interrupt ? Interrupt::exit_status : 1);
}

TEST(InterruptDeathTest, CtrlCEndsARunThatGivesUpItsTurnAndOneThatDoesNot) {
  EXPECT_EXIT(run_after_sigint([](Rank& rank) {
                for (;;) rank.yield();
              }),
              ::testing::ExitedWithCode(130), HasSubstr("[engine/interrupt] interrupted"));
  EXPECT_EXIT(run_after_sigint([](Rank& rank) {
                for (volatile bool stuck = rank.id() == 1; stuck;) {
                }
              }),
              ::testing::ExitedWithCode(130),
              AllOf(HasSubstr("rank 1 did not give up its turn after the interrupt"),
                    HasSubstr("reproduce: ./train")));
}

TEST(InterruptDeathTest, ASecondCtrlCEndsTheProgramAtOnce) {
  EXPECT_EXIT(run_after_sigint([](Rank&) { std::raise(SIGINT); }), ::testing::ExitedWithCode(130),
              "");
}

#endif

}  // namespace
}  // namespace simmesh
