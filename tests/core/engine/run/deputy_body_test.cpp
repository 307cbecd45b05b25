#include "core/engine/run/deputy_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/engine/deputy.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

// Sets a flag when it goes, as a tensor gives back its bytes.
struct Held {
  bool& is_gone;
  ~Held() { is_gone = true; }
};

// If this fails, memory that background work holds counts against what the rank does afterwards.
TEST(DeputyBody, WhatWorkHoldsIsGoneBeforeItsEndIsKnown) {
  run_every_schedule(
      2,
      [](Rank&) {
        for (bool fails : {false, true}) {
          bool is_gone = false;
          auto held = std::make_shared<Held>(Held{is_gone});
          is_gone = false;
          DeputyTask task = Deputy::of_this_rank(0).start([held = std::move(held), fails] {
            this_rank().yield();
            if (fails) raise(ErrorKind::value_error, "test", "no good");
          });
          if (fails)
            EXPECT_THROW(task.wait(), Error);
          else
            task.wait();
          EXPECT_TRUE(is_gone);
        }
      },
      1);
}

// If this fails, a deputy that has nothing to do keeps its run from ending, or misses its work.
TEST(DeputyBody, RestsBetweenItsWork) {
  run_every_schedule(
      2,
      [](Rank& rank) {
        RankId deputy = deputy_id(rank.world().options(), rank.id(), 0);
        for (int i = 0; i < 3; ++i) {
          Deputy::of_this_rank(0).start([] {}).wait();
          rank.sleep(1);
          rank.run().take_turn(rank);
          EXPECT_EQ(rank.run().seats()[deputy].state, Seat::State::idle);
        }
      },
      1);
}

// If this fails, the explorer doesn't see that the end of work and a question about it depend on
// each other.
TEST(DeputyBody, TellsAnExplorerOfTheEndOfItsWork) {
  struct Deaf final : SchedulePolicy {
    std::unique_ptr<SchedulePolicy> fifo = Schedule::fifo().make_policy(2, 0);
    bool listening;
    explicit Deaf(bool listens_too) : listening(listens_too) {}
    void add(RankId rank) override { fifo->add(rank); }
    RankId pick() override { return fifo->pick(); }
    bool listens() const override { return listening; }
  };
  for (bool listens : {false, true}) {
    World world({.ranks = 1,
                 .deputies = 1,
                 .schedule = Schedule::custom("fifo", [=](std::size_t, std::uint64_t) {
                   return std::make_unique<Deaf>(listens);
                 })});
    Outcome outcome = world.run([](Rank& rank) {
      Deputy::of_this_rank(0).start([] {}).wait();
      rank.run().touches().mark_all_sensitive();
    });
    ASSERT_EQ(outcome.touches.size(), listens ? 1u : 0u);
    if (listens) {
      EXPECT_EQ(outcome.touches[0].rank, 1u);
    }
  }
}

}  // namespace
}  // namespace simmesh
