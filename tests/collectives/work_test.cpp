#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/check/error.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

TEST(Work, OverlappingCollectivesCompleteInAnyOrderOfWaits) {
  run_every_schedule(3, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    Work first = all_reduce_async(full({2}, DType::float32, 1), ReduceOp::sum, world);
    Work second = all_gather_async(full({1}, DType::float32, rank.id()), {}, world);
    Work third = reduce_scatter_async(full({3}, DType::float32, 2), ReduceOp::sum, {}, world);
    EXPECT_EQ(to_string(second.wait()), "float32[3] {0, 1, 2}");
    EXPECT_EQ(to_string(third.wait()), "float32[1] {6}");
    EXPECT_EQ(to_string(first.wait()), "float32[2] {3, 3}");
    EXPECT_TRUE(first.is_completed());
    EXPECT_EQ(to_string(first.wait()), "float32[2] {3, 3}");
  });
}

// A device would read the operand later; here it is what it was at the start, under every schedule.
TEST(Work, WritesAfterTheStartDoNotShow) {
  run_every_schedule(2, [](Rank& rank) {
    Tensor tensor = full({2}, DType::float32, 1);
    Work work = all_reduce_async(tensor, ReduceOp::sum, ProcessGroup::world());
    tensor.mutable_values<float>()[0] = 100;
    rank.expect_same_bits(work.wait(), full({2}, DType::float32, 2));
    EXPECT_EQ(tensor.values<float>()[0], 100);
  });
}

TEST(Work, ADroppedWorkStillTakesPart) {
  run_every_schedule(2, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    if (rank.id() == 0)
      static_cast<void>(broadcast_async(full({1}, DType::float32, 5), 0, world));
    else
      rank.expect_same_bits(broadcast(zeros({1}, DType::float32), 0, world),
                            full({1}, DType::float32, 5));
    barrier(world);
  });
}

// Rank 0 has two partners. The one wakes it, so that it runs ahead; the other one completes a
// collective whose work it has dropped.
void drop_works(Rank& rank, int count) {
  for (int i = 0; i < count; ++i) {
    if (rank.id() != 2) {
      Tensor piece = full({4}, DType::float32, 1);
      Tensor whole = empty(Shape{8}, DType::float32);
      static_cast<void>(start_collective(ProcessGroup::of(RankList::of({0, 1}), "dropped"),
                                         {.op = CollectiveOp::all_gather, .inputs = {&piece, 1}},
                                         {.into = whole}));
    }
    if (rank.id() != 1) barrier(ProcessGroup::of(RankList::of({0, 2}), "waking"));
    full({8}, DType::float32, 2);
    if (rank.id() == 1) rank.yield();
  }
}

// If this fails, a tensor whose work was dropped is given back on the thread of the rank that came
// last, beside its own rank, or at the end of the run only.
TEST(Work, ADroppedOneGivesItsTensorBackOnItsOwnRank) {
  run_every_schedule(3, [](Rank& rank) {
    std::int64_t before = rank.ledger().total().current;
    drop_works(rank, 50);
    barrier(ProcessGroup::world());
    rank.yield();
    EXPECT_EQ(rank.ledger().total().current, before);
  });
}

TEST(Work, AnEmptyOneCannotBeWaitedFor) {
  Work work;
  EXPECT_TRUE(work.is_completed());
  EXPECT_THROW(work.wait(), Error);
}

TEST(Work, CompletionIsSeenWithoutAStep) {
  run_every_schedule(2, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    if (rank.id() == 0) {
      Work work = irecv(Shape{1}, DType::float32, {.peer = 1}, world);
      EXPECT_FALSE(work.has_completed());
      barrier(world);
      work.wait();
      EXPECT_TRUE(work.has_completed());
    } else {
      barrier(world);
      send(full({1}, DType::float32, 5), {.peer = 0}, world);
    }
  });
  EXPECT_TRUE(Work().has_completed());
}

TEST(Work, MessagesCanBeOvertaken) {
  run_every_schedule(2, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    if (rank.id() == 0) {
      Work a = isend(full({1}, DType::int32, 1), {.peer = 1, .tag = 1}, world);
      Work b = isend(full({1}, DType::int32, 2), {.peer = 1, .tag = 2}, world);
      a.wait();
      b.wait();
    } else {
      Work late = irecv(Dims{1}, DType::int32, {.peer = 0, .tag = 2}, world);
      Tensor early = recv(Dims{1}, DType::int32, {.peer = 0, .tag = 1}, world).tensor;
      EXPECT_EQ(to_string(early), "int32[1] {1}");
      EXPECT_EQ(to_string(late.wait()), "int32[1] {2}");
    }
  });
}

}  // namespace
}  // namespace simmesh
