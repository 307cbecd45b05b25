#include "core/engine/options/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
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

// If this fails, a rank that is alone in a group, or alone runs of it, goes on without a result.
TEST(Fault, AnotherCollectiveOfARankAloneIsReported) {
  auto body = [](Rank& rank) {
    ProcessGroup own = ProcessGroup::of(RankList::of({std::int64_t(rank.id())}), "own");
    ProcessGroup pair = ProcessGroup::of(RankList::range(2), "pair");
    Tensor tensor = full({8}, DType::float32, 1);
    tensor = all_reduce(tensor, ReduceOp::sum, own);
    if (rank.id() == 0) all_reduce_async(tensor, ReduceOp::sum, pair).wait();
  };
  for (std::uint64_t operation : {1u, 2u}) {
    WorldOptions options{.ranks = 4, .faults = {Fault::call_another({.operation = operation})}};
    options.shapes_only = options.fold = true;
    Outcome outcome = World(options).run(body);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.failure->kind, Failure::Kind::error);
    EXPECT_THAT(outcome.failure->message, HasSubstr("rank 0 calls another collective (injected)"));
  }
}

TEST(Fault, AFlippedBitOfAMessageComesThroughAndAShapeHasNone) {
  auto received = [](FaultPlan faults, bool shapes_only) {
    World world({.ranks = 2, .faults = std::move(faults), .shapes_only = shapes_only});
    return world.run([](Rank& rank) {
      ProcessGroup group = ProcessGroup::world();
      Tensor tensor = full({4}, DType::float32, 1);
      if (rank.id() == 0)
        send(tensor, {.peer = 1}, group);
      else
        rank.record(recv(Dims{4}, DType::float32, {.peer = 0}, group).tensor);
      rank.record(all_reduce(tensor, ReduceOp::sum, group));
    });
  };
  for (std::uint64_t operation : {1u, 2u}) {
    FaultPlan flip = {Fault::flip_bit({.rank = 0, .operation = operation, .bit = 22})};
    EXPECT_NE(received(flip, false).data_hash, received({}, false).data_hash) << operation;
    EXPECT_EQ(received(flip, true).data_hash, received({}, true).data_hash) << operation;
  }
}

}  // namespace
}  // namespace simmesh
