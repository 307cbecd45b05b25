#include "collectives/host_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/engine/explore.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Memory of a program that knows nothing of tensors.
using Floats = std::vector<float>;

HostArray array_of(Floats& values) {
  return {reinterpret_cast<std::byte*>(values.data()),
          DType::float32,
          {std::int64_t(values.size())},
          {1}};
}

std::shared_ptr<const HostMemory> memory(std::vector<HostArray> operands,
                                         std::vector<HostArray> results) {
  return std::make_shared<HostMemory>(std::move(operands), std::move(results));
}

void wait(Work work) { work.wait_all(); }

TEST(HostOperations, CollectivesReadAndWriteTheMemory) {
  run_every_schedule(3, [](Rank& rank) {
    ProcessGroup group = ProcessGroup::world();
    float me = float(rank.id());
    Floats sum{me, 1}, whole(6), part(1), all(3, me + 1);
    wait(start_collective_on(memory({array_of(sum)}, {array_of(sum)}), group,
                             {.op = CollectiveOp::all_reduce}));
    EXPECT_THAT(sum, ElementsAre(3, 3));
    Floats piece{me, -me};
    wait(start_collective_on(memory({array_of(piece)}, {array_of(whole)}), group,
                             {.op = CollectiveOp::all_gather}));
    EXPECT_THAT(whole, ElementsAre(0, 0, 1, -1, 2, -2));
    wait(start_collective_on(memory({array_of(all)}, {array_of(part)}), group,
                             {.op = CollectiveOp::reduce_scatter}));
    EXPECT_THAT(part, ElementsAre(6));
  });
}

// Only the elements of a strided array are touched.
TEST(HostOperations, StridesAreThoseOfTheHost) {
  run_every_schedule(2, [](Rank& rank) {
    Floats grid{0, 9, 1, 9, 2, 9};
    for (std::size_t i = 0; i < 6; i += 2) grid[i] += float(rank.id());
    HostArray column{reinterpret_cast<std::byte*>(grid.data()), DType::float32, {3}, {2}};
    wait(start_collective_on(memory({column}, {column}), ProcessGroup::world(),
                             {.op = CollectiveOp::all_reduce}));
    EXPECT_THAT(grid, ElementsAre(1, 9, 3, 9, 5, 9));
  });
}

TEST(HostOperations, MessagesGoFromMemoryToMemory) {
  run_every_schedule(3, [](Rank& rank) {
    ProcessGroup group = ProcessGroup::world();
    Floats mine{float(rank.id())}, theirs(1);
    std::int64_t next = (rank.id() + 1) % 3, previous = (rank.id() + 2) % 3;
    Work sent = isend_from(memory({array_of(mine)}, {}), {.peer = next, .tag = 4}, group);
    Work received = irecv_into(memory({}, {array_of(theirs)}), {.peer = {}, .tag = 4}, group);
    EXPECT_EQ(received.source(), std::nullopt);
    received.wait_all();
    sent.wait_all();
    EXPECT_EQ(received.source(), previous);
    EXPECT_EQ(theirs[0], float(previous));
  });
}

// Operands are read, and results written, at the moment of completion: whether that is before or
// after what a rank does to the memory is up to the schedule.
TEST(HostOperations, WhatRacesHasDifferentBitsUnderDifferentSchedules) {
  auto hashes_of = [](bool waits_first) {
    std::set<std::uint64_t> hashes;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      World world({.ranks = 4, .schedule = Schedule::seeded(seed), .ranks_are_threads = true});
      Outcome outcome = world.run([&](Rank& rank) {
        Floats values{float(rank.id() + 1)};
        Work work = start_collective_on(memory({array_of(values)}, {array_of(values)}),
                                        ProcessGroup::world(), {.op = CollectiveOp::all_reduce});
        if (waits_first) work.wait_all();
        values[0] *= 100;
        work.wait_all();
        rank.record(std::uint64_t(values[0]));
      });
      EXPECT_TRUE(outcome.ok()) << report(outcome);
      hashes.insert(outcome.data_hash);
    }
    return hashes.size();
  };
  EXPECT_EQ(hashes_of(true), 1u);
  EXPECT_GT(hashes_of(false), 1u);
}

TEST(HostOperations, AWaitWithADeadlineCanBeRepeated) {
  run_every_schedule(2, [](Rank& rank) {
    ProcessGroup group = ProcessGroup::world();
    Floats values{1}, theirs(1);
    if (rank.id() == 1) rank.sleep(5);
    Work work = start_collective_on(memory({array_of(values)}, {array_of(values)}), group,
                                    {.op = CollectiveOp::all_reduce});
    if (rank.id() == 0) {
      EXPECT_FALSE(work.wait_until(2));
      EXPECT_EQ(rank.seconds(), 2);
      EXPECT_EQ(values[0], 1);
    }
    EXPECT_TRUE(work.wait_until(9));
    EXPECT_TRUE(work.wait_until(0));
    EXPECT_EQ(values[0], 2);
    Work message = rank.id() == 0 ? irecv_into(memory({}, {array_of(theirs)}), {.peer = 1}, group)
                                  : isend_from(memory({array_of(values)}, {}), {.peer = 0}, group);
    EXPECT_TRUE(message.wait_until(rank.seconds() + 1));
  });
}

TEST(HostOperations, AReceiveThatTimesOutStaysPosted) {
  run_every_schedule(2, [](Rank& rank) {
    ProcessGroup group = ProcessGroup::world();
    Floats values{7};
    if (rank.id() == 1) {
      rank.sleep(3);
      isend_from(memory({array_of(values)}, {}), {.peer = 0}, group).wait_all();
      return;
    }
    Floats theirs(1);
    Work message = irecv_into(memory({}, {array_of(theirs)}), {.peer = 1}, group);
    EXPECT_FALSE(message.wait_until(1));
    EXPECT_TRUE(message.wait_until(4));
    EXPECT_EQ(theirs[0], 7);
  });
}

// If this fails, an innocent rank gets the error, or a rank goes on with results that nobody wrote.
TEST(HostOperations, AWrongOutputIsTheErrorOfItsRankUnderEverySchedule) {
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
    for (RankId culprit : {0, 1, 2}) {
      World world({.ranks = 3, .schedule = Schedule::parse(schedule), .ranks_are_threads = true});
      Outcome outcome = world.run([&](Rank& rank) {
        Floats piece(2), whole(rank.id() == culprit ? 5 : 6);
        wait(start_collective_on(memory({array_of(piece)}, {array_of(whole)}),
                                 ProcessGroup::world(),
                                 {.op = CollectiveOp::all_gather, .site = {"train.py", 3}}));
      });
      ASSERT_TRUE(outcome.failure);
      EXPECT_EQ(outcome.failure->rank, culprit) << schedule;
      EXPECT_EQ(outcome.failure->message,
                fmt::format("[collectives] rank {}: all_gather along dim 0 of float32[2] at "
                            "train.py:3, #0 of group world [0, 1, 2]: expected an output of 6 "
                            "elements of float32, got float32[5]",
                            culprit));
    }
}

TEST(HostOperations, AMismatchNamesBothSides) {
  Outcome outcome = World({.ranks = 2}).run([](Rank& rank) {
    Floats values(2 + rank.id());
    wait(start_collective_on(memory({array_of(values)}, {array_of(values)}), ProcessGroup::world(),
                             {.op = CollectiveOp::all_reduce,
                              .site = site_in("/home/user/train.py", 3 + int(rank.id()))}));
  });
  EXPECT_THAT(report(outcome), HasSubstr("the shapes differ: rank 0 calls all_reduce(sum) of "
                                         "float32[2] at train.py:3, rank 1 calls all_reduce(sum) "
                                         "of float32[3] at train.py:4"));
}

}  // namespace
}  // namespace simmesh
