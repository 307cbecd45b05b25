#include "collectives/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/check/error.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::kind_and_message;

// Each group counts its own collectives, so groups of one mesh don't get in each other's way.
TEST(ProcessGroup, MeshDimsHaveGroupsInCoordinateOrder) {
  run_every_schedule(6, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 3}, {"dp", "tp"});
    ProcessGroup dp = process_group(mesh, "dp"), tp = process_group(mesh, "tp");
    EXPECT_EQ(dp.size(), 2);
    EXPECT_EQ(tp.rank(), rank.id() % 3);
    Tensor mine = full({1}, DType::int32, rank.id());
    std::int32_t row = std::int32_t(rank.id()) / 3 * 3;
    Tensor along = all_gather(mine, {}, tp);
    for (std::int32_t i = 0; i < 3; ++i)
      EXPECT_EQ(along.values<std::int32_t>()[std::size_t(i)], row + i);
    Tensor across = all_reduce(mine, ReduceOp::sum, dp);
    EXPECT_EQ(across.values<std::int32_t>()[0], std::int32_t(rank.id()) % 3 * 2 + 3);
  });
}

TEST(ProcessGroup, OrderOfMembersDecides) {
  run_every_schedule(3, [](Rank& rank) {
    ProcessGroup backwards = ProcessGroup::of(RankList::of({2, 1, 0}), "backwards");
    Tensor all = all_gather(full({1}, DType::int32, rank.id()), {}, backwards);
    EXPECT_EQ(to_string(all), "int32[3] {2, 1, 0}");
  });
}

TEST(ProcessGroup, ARankOutsideIsRefused) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank&) { ProcessGroup::of(RankList::of({0}), "first"); });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.failure->message, ::testing::HasSubstr("expected rank 1 to be a member"));
  outcome = world.run([](Rank&) { ProcessGroup::of(RankList::range(3), "large"); });
  EXPECT_THAT(outcome.failure->message, ::testing::HasSubstr("below the 2 ranks of the world"));
}

Outcome run_two(const char* schedule, std::size_t threads, const std::function<void(Rank&)>& body) {
  World world({.ranks = 2, .schedule = Schedule::parse(schedule), .threads = threads});
  return world.run(body);
}

// If this fails, ranks wait for a rank that never came, and the report blames another.
TEST(ProcessGroup, IsRefusedInAnotherRankAndInALaterRun) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      std::optional<ProcessGroup> kept;
      Outcome outcome = run_two(schedule, threads, [&](Rank& rank) {
        if (rank.id() == 0) kept = ProcessGroup::world();
        barrier(ProcessGroup::world());
        if (rank.id() == 1) barrier(*kept);
      });
      ASSERT_TRUE(outcome.failure);
      EXPECT_EQ(outcome.failure->message,
                "[collectives/process_group] rank 1: expected a process group that it made itself, "
                "got one of rank 0; each rank makes its own");
      outcome = run_two(schedule, threads, [&](Rank&) { barrier(*kept); });
      ASSERT_TRUE(outcome.failure);
      EXPECT_THAT(outcome.failure->message, HasSubstr("expected a process group of this run"));
    }
}

TEST(ProcessGroup, IsRefusedOnAThreadThatRunsNoRank) {
  Outcome outcome = run_two("fifo", 1, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    std::exception_ptr thrown;
    if (rank.id() == 1)
      std::thread([&] {
        try {
          barrier(world);
        } catch (...) {
          thrown = std::current_exception();
        }
      }).join();
    if (thrown) std::rethrow_exception(thrown);
  });
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(
      outcome.failure->message,
      HasSubstr("expected a rank to use its process group, got a thread that runs no rank"));
}

// Returns the errors of a rank that aborts a mesh, and a slice of it.
std::vector<std::string> told_of_abort(Release release) {
  std::vector<std::string> told;
  World world({.ranks = 1, .release = release});
  Outcome outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({1, 1}, {"dp", "tp"});
    for (const DeviceMesh& aborted : {mesh["tp"], mesh})
      told.push_back(kind_and_message([&] { abort(aborted); }));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return told;
}

TEST(ReleaseChanges, MeshAbort) {
  const std::string missing =
      "AttributeError: 'DeviceMesh' object has no attribute 'abort' under release 2.13; expected "
      "2.15";
  EXPECT_EQ(told_of_abort(Release::v2_13), (std::vector<std::string>{missing, missing}));
  EXPECT_EQ(told_of_abort(Release::v2_15),
            (std::vector<std::string>{
                "RuntimeError: abort() is not supported on a submesh, got DeviceMesh((tp=1), ranks "
                "[0]): call it on the root mesh DeviceMesh((dp=1, tp=1), ranks [0])",
                ""}));
}

template <class F>
std::string class_of_refusal(F call) {
  auto refusal = error_of(call);
  return refusal ? std::string(to_string(refusal->kind())) : "none";
}

// A rank that aborts must not wait for one that never comes, nor use the group any more.
TEST(ProcessGroup, AbortTakesARankOut) {
  run_every_schedule(4, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 2}, {"dp", "tp"});
    DeviceMesh flat = mesh.flatten("all");
    ProcessGroup tp = process_group(mesh, "tp"), all = process_group(flat);
    Tensor x = full({2}, DType::float32, 1);
    Work complete = all_reduce_async(x, ReduceOp::sum, tp);
    barrier(ProcessGroup::world());
    Work pending;
    if (rank.id() % 2 == 0) pending = all_reduce_async(x, ReduceOp::sum, tp);
    abort(mesh);
    if (rank.id() % 2 == 0) {
      EXPECT_EQ(class_of_refusal([&] { pending.wait(); }), "RuntimeError");
    }
    rank.expect_same_bits(complete.wait(), full({2}, DType::float32, 2));
    for (const ProcessGroup& group : {tp, all}) {
      EXPECT_EQ(class_of_refusal([&] { barrier(group); }), "ValueError");
      EXPECT_EQ(class_of_refusal([&] { send(x, {.peer = 0}, group); }), "ValueError");
    }
    EXPECT_EQ(class_of_refusal([&] { process_group(mesh, "dp"); }), "RuntimeError");
    EXPECT_EQ(class_of_refusal([&] { process_group(flat); }), "RuntimeError");
    EXPECT_EQ(class_of_refusal([&] { abort(mesh); }), "RuntimeError");
    barrier(ProcessGroup::world());
  });
}

}  // namespace
}  // namespace simmesh
