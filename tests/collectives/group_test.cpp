#include "collectives/group.h"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "collectives/collectives.h"
#include "collectives/process_group.h"
#include "collectives/work.h"
#include "core/check/error.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// Side is one member's side of a collective, which joins a group as collectives do.
struct Side {
  Side(Rank& rank, CollectiveOp op, double value) : tensor(full({2}, DType::float32, value)) {
    call.op = op;
    if (op != CollectiveOp::barrier) call.inputs = {&tensor, 1};
    arrival.call = &call;
    arrival.rank = &rank;
  }

  // Joins, and blocks until the collective is complete.
  void join_and_wait(Group& group, std::size_t member) {
    Exchange& exchange = group.join(member, arrival);
    if (arrival.is_complete) return;
    arrival.is_blocked = true;
    arrival.rank->run().block(*arrival.rank, {.operation = "test", .waits_for = &exchange});
  }

  Tensor tensor;
  CollectiveCall call;
  Arrival arrival;
};

// If this fails, a member goes on before all have come, or without its result.
TEST(Group, CompletesACollectiveWithItsLastMember) {
  run_every_schedule(3, [](Rank& rank) {
    Group& group = ProcessGroup::world().group();
    for (std::uint64_t i = 0; i < 3; ++i) {
      rank.run().take_turn(rank);
      Side side(rank, CollectiveOp::all_reduce, rank.id() + 1);
      side.join_and_wait(group, rank.id());
      EXPECT_TRUE(side.arrival.is_complete);
      EXPECT_EQ(side.arrival.sequence, i);
      ASSERT_EQ(side.arrival.parts().size(), 1u);
      Tensor sum = side.arrival.parts()[0].to_tensor();
      EXPECT_EQ(sum.values<float>()[1], 6);
      rank.record(sum);
      side.arrival.drop_parts();
    }
  });
}

// If this fails, a rank that starts several collectives before the others come mixes them up.
TEST(Group, KeepsSeveralCollectivesUnderWay) {
  run_every_schedule(3, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    std::vector<Work> works;
    for (int i = 0; i < 4; ++i)
      works.push_back(all_reduce_async(full({1}, DType::float32, i), ReduceOp::sum, world));
    for (int i = 3; i >= 0; --i) {
      Tensor sum = works[std::size_t(i)].wait();
      EXPECT_EQ(sum.values<float>()[0], 3 * i);
      rank.record(sum);
    }
  });
}

// If this fails, the operands of a started collective are freed while others still need them, or
// are never freed.
TEST(Group, KeepsAnArrivalUntilItsCollectiveIsComplete) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank& rank) {
    Group& group = ProcessGroup::world().group();
    if (rank.id() == 0) {
      auto side = std::make_shared<Side>(rank, CollectiveOp::barrier, 0);
      group.join_and_keep(0, {side, &side->arrival});
      EXPECT_EQ(side.use_count(), 2);
      rank.yield();
      EXPECT_TRUE(side->arrival.is_complete);
      rank.run().take_turn(rank);
      EXPECT_EQ(side.use_count(), 1);
      return;
    }
    Side side(rank, CollectiveOp::barrier, 0);
    side.join_and_wait(group, 1);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// If this fails, a member whose group is gone for it hangs in its next collective.
TEST(Group, AMemberThatAbortedIsRefused) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank& rank) {
    Group& group = ProcessGroup::world().group();
    EXPECT_FALSE(group.is_aborted(rank.id()));
    group.require_alive(rank.id(), "barrier");
    if (rank.id() == 1) return;
    group.abort(0);
    EXPECT_TRUE(group.is_aborted(0));
    EXPECT_FALSE(group.is_aborted(1));
    barrier(ProcessGroup::of(RankList::range(1), "own"));
    barrier(ProcessGroup::world());
  });
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(
      outcome.failure->message,
      HasSubstr("Could not resolve the process group world [0, 1]: expected one that rank 0 "
                "didn't abort"));
}

// The explorer finds a collective or a message again under another schedule by its object. If this
// fails, it takes different ones for the same, or the same for different ones.
TEST(Group, NamesItsObjectsAlikeUnderEverySchedule) {
  std::map<std::string, std::uint64_t> known;
  run_every_schedule(2, [&](Rank& rank) {
    Group& world = ProcessGroup::world().group();
    Group& other = ProcessGroup::of(RankList::range(2), "other").group();
    Group& backwards = ProcessGroup::of(RankList::of({1, 0}), "world").group();
    rank.run().take_turn(rank);
    std::map<std::string, std::uint64_t> objects;
    for (const auto& [name, group] : {std::pair{"world ", &world}, std::pair{"other ", &other},
                                      std::pair{"backwards ", &backwards}}) {
      std::string begin = name;
      for (std::size_t i : {0, 1}) {
        objects[begin + "exchange " + std::to_string(i)] = group->exchange_object(i);
        for (std::int64_t tag : {0, 1}) {
          std::string end = std::to_string(i) + " " + std::to_string(tag);
          objects[fmt::format("{}mailbox {}", begin, end)] = group->mailbox_object(i, tag);
          objects[fmt::format("{}delivery {}", begin, end)] = group->delivery_object(i, tag);
        }
      }
    }
    std::set<std::uint64_t> different;
    for (const auto& [name, object] : objects) different.insert(object);
    EXPECT_EQ(different.size(), objects.size());
    if (known.empty()) known = objects;
    EXPECT_EQ(objects, known);
  });
}

// If this fails, a run's report counts calls of other operations, or bytes twice.
TEST(Group, CountsCallsAndBytesByOperation) {
  run_every_schedule(4, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    all_reduce(zeros({8}, DType::float32), ReduceOp::sum, world);
    barrier(world);
    barrier(world);
    if (rank.id() < 2)
      broadcast(zeros({2}, DType::float32), 0, ProcessGroup::of(RankList::range(2), "half"));
    barrier(world);
    rank.run().take_turn(rank);
    const CollectiveCounts& counts = rank.run().state<GroupTable>().counts();
    EXPECT_EQ(counts.of(CollectiveOp::all_reduce).calls, 4u);
    EXPECT_EQ(counts.of(CollectiveOp::all_reduce).fabric_bytes, 2 * 3 * 32u);
    EXPECT_EQ(counts.of(CollectiveOp::barrier).calls, 12u);
    EXPECT_EQ(counts.of(CollectiveOp::broadcast).fabric_bytes, 8u);
    EXPECT_EQ(counts.of(CollectiveOp::gather).calls, 0u);
    EXPECT_EQ(counts.copied_bytes, 32u) << "the reduction's result; a broadcast copies nothing";
  });
}

// If this fails, members of one group wait for one another in different groups, or two groups of
// the same ranks share a count of collectives.
TEST(GroupTable, FindsTheGroupOfMembersAndName) {
  run_every_schedule(3, [](Rank& rank) {
    auto group_of = [](const RankList& members, const char* name) {
      return &ProcessGroup::of(members, name).group();
    };
    Group* world = &ProcessGroup::world().group();
    EXPECT_EQ(group_of(RankList::range(3), "world"), world);
    EXPECT_EQ(group_of(RankList::of({0, 1, 2}), "world"), world) << "however the list is kept";
    EXPECT_NE(group_of(RankList::range(3), "other"), world);
    EXPECT_NE(group_of(RankList::of({2, 1, 0}), "world"), world) << "the order counts";
    rank.run().take_turn(rank);
    Group& found =
        rank.run().state<GroupTable>().find_or_make(rank.run(), RankList::range(3), "world");
    EXPECT_EQ(&found, world);
  });
}

// Groups of the same members are found by name, in whatever order the names came.
TEST(GroupTable, FindsEachOfManyNames) {
  run_every_schedule(2, [](Rank& rank) {
    std::vector<Group*> groups;
    auto group_of = [](int number) {
      std::string name = "group_" + std::to_string(number * 7919 % 500);
      return &ProcessGroup::of(RankList::range(2), name).group();
    };
    for (int i = 0; i < 500; ++i) groups.push_back(group_of(i));
    rank.run().take_turn(rank);
    for (int i = 0; i < 500; ++i) EXPECT_EQ(group_of(i), groups[std::size_t(i)]) << i;
    std::sort(groups.begin(), groups.end());
    EXPECT_EQ(std::unique(groups.begin(), groups.end()), groups.end()) << "a group for each name";
  });
}

}  // namespace
}  // namespace simmesh
