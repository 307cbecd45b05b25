#include "core/engine/options/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/engine/world.h"

// Each fault has the checker that must fire.
namespace simmesh {
namespace {

using ::testing::HasSubstr;

Outcome run_with(FaultPlan faults, const char* schedule = "fifo") {
  World world({.ranks = 4, .schedule = Schedule::parse(schedule), .faults = std::move(faults)});
  return world.run([](Rank& rank) {
    ProcessGroup group = ProcessGroup::world();
    Tensor tensor = full({8}, DType::float32, 1 + rank.id());
    for (int i = 0; i < 3; ++i) tensor = all_reduce(tensor, ReduceOp::sum, group);
    rank.record(tensor);
  });
}

TEST(Fault, AKilledRankIsTheFailure) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"}) {
    Outcome outcome = run_with({Fault::kill({.rank = 2, .operation = 2})}, schedule);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.failure->rank, 2u);
    EXPECT_THAT(outcome.failure->message, HasSubstr("killed (injected) at its operation 2"));
    EXPECT_EQ(outcome.live_storages, 0);
  }
}

TEST(Fault, AStarvedRankChangesNoResult) {
  EXPECT_EQ(run_with({Fault::starve(1)}).data_hash, run_with({}).data_hash);
  EXPECT_NE(run_with({Fault::starve(1)}).schedule_hash, run_with({}).schedule_hash);
}

TEST(Fault, AnAbandonedCollectiveIsADeadlock) {
  Outcome outcome = run_with({Fault::abandon({.rank = 3, .operation = 2})});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure->kind, Failure::Kind::deadlock);
  EXPECT_THAT(report(outcome), HasSubstr("chain: rank 0 -> rank 3, which has returned"));
}

TEST(Fault, AFlippedBitChangesTheDataHash) {
  for (std::uint64_t bit : {22u, 52u, 255u})
    EXPECT_NE(run_with({Fault::flip_bit({.rank = 0, .operation = 1, .bit = bit})}).data_hash,
              run_with({}).data_hash);
}

TEST(Fault, AFailedAllocationNamesTheRank) {
  Outcome outcome = run_with({Fault::fail_allocation({.rank = 1, .allocation = 2})});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure->rank, 1u);
  EXPECT_THAT(outcome.failure->message, HasSubstr("rank 1: allocation 2 of 32 bytes failed"));
  EXPECT_EQ(outcome.live_storages, 0);
}

TEST(Fault, AnotherCollectiveIsAMismatchThatNamesBothSides) {
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"}) {
    Outcome outcome = run_with({Fault::call_another({.rank = 2, .operation = 3})}, schedule);
    ASSERT_FALSE(outcome.ok());
    EXPECT_THAT(outcome.failure->message, HasSubstr("the operations differ"));
    EXPECT_THAT(outcome.failure->message, HasSubstr("rank 2 calls barrier"));
  }
}

}  // namespace
}  // namespace simmesh
