#include "collectives/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

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
  EXPECT_THAT(outcome.failure->message, testing::HasSubstr("expected rank 1 to be a member"));
  outcome = world.run([](Rank&) { ProcessGroup::of(RankList::range(3), "large"); });
  EXPECT_THAT(outcome.failure->message, testing::HasSubstr("below the 2 ranks of the world"));
}

}  // namespace
}  // namespace simmesh
