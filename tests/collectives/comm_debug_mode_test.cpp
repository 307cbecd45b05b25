#include "collectives/comm_debug_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "tests/every_schedule.h"

// A scope that missed a collective, or counted another rank's, would make a program look cheaper or
// dearer than it is.
namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Count = CommDebugMode::Count;

TEST(CommDebugMode, CountsCallsAndBytesOfEachOperation) {
  run_every_schedule(3, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    Tensor x = full({6}, DType::float32, 1);
    all_reduce(x, ReduceOp::sum, world);
    CommDebugMode mode;
    EXPECT_THAT(mode.get_comm_counts(), IsEmpty());
    all_gather(x, {}, world);
    all_gather(full({1}, DType::int64, 1), {}, world);
    std::vector<Tensor> two = {x, x};
    all_reduce_coalesced(two, ReduceOp::sum, world);
    Work work = reduce_scatter_async(x, ReduceOp::sum, {}, world);
    EXPECT_EQ(mode.get_total_counts(), 4u);
    work.wait();
    barrier(world);
    EXPECT_THAT(mode.get_comm_counts(),
                ElementsAre(Pair("all_gather", Count{2, 32}), Pair("all_reduce", Count{1, 48}),
                            Pair("barrier", Count{1, 0}), Pair("reduce_scatter", Count{1, 24})));
    EXPECT_EQ(mode.of(CollectiveOp::broadcast), Count{});
    EXPECT_EQ(to_string(mode),
              "all_gather: 2 calls, 32 bytes\nall_reduce: 1 calls, 48 bytes\n"
              "barrier: 1 calls, 0 bytes\nreduce_scatter: 1 calls, 24 bytes\n");
    rank.record(mode.get_total_counts());
  });
}

TEST(CommDebugMode, ScopesLieInEachOtherAndEnd) {
  run_every_schedule(2, [](Rank&) {
    ProcessGroup world = ProcessGroup::world();
    CommDebugMode outer;
    barrier(world);
    {
      CommDebugMode inner;
      barrier(world);
      EXPECT_EQ(inner.get_total_counts(), 1u);
    }
    barrier(world);
    outer.end();
    barrier(world);
    EXPECT_EQ(outer.get_total_counts(), 3u);
  });
}

// Only one rank counts, and it counts its own calls.
// A sum in another dtype has other bits and another cost, though the number of calls is the same.
TEST(CommDebugMode, TellsReductionsApart) {
  run_every_schedule(2, [](Rank&) {
    ProcessGroup world = ProcessGroup::world();
    CommDebugMode mode;
    for (DType dtype : {DType::float32, DType::bfloat16, DType::float32})
      reduce_scatter(full({4}, dtype, 1), ReduceOp::avg, {}, world);
    all_reduce(full({4}, DType::float32, 1), ReduceOp::max, world);
    all_gather(full({4}, DType::float32, 1), {}, world);
    EXPECT_THAT(mode.get_reduction_counts(), ElementsAre(Pair("all_reduce max float32", 1u),
                                                         Pair("reduce_scatter avg bfloat16", 1u),
                                                         Pair("reduce_scatter avg float32", 2u)));
  });
}

TEST(CommDebugMode, BelongsToItsRank) {
  run_every_schedule(3, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    std::optional<CommDebugMode> mode;
    if (rank.id() == 1) mode.emplace();
    for (int i = 0; i < 5; ++i) barrier(world);
    EXPECT_EQ(mode ? mode->get_total_counts() : 5u, 5u);
  });
}

TEST(CommDebugMode, NeedsARank) { EXPECT_THROW(CommDebugMode(), Error); }

// An observer misses a call, or is told of those after the scope.
TEST(CommDebugMode, TellsAnObserverOfEachCall) {
  run_every_schedule(2, [](Rank&) {
    std::vector<std::string> seen;
    CommDebugMode mode([&](const CollectiveCall& call) { seen.push_back(name_of(call.op)); });
    all_reduce(full({2}, DType::float32, 1), ReduceOp::sum, ProcessGroup::world());
    barrier(ProcessGroup::world());
    mode.end();
    barrier(ProcessGroup::world());
    EXPECT_THAT(seen, ElementsAre("all_reduce", "barrier"));
  });
}

}  // namespace
}  // namespace simmesh
