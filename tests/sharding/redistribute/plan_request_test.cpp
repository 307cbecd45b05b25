#include "sharding/redistribute/plan_request.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

TEST(PlanRequest, IsPrintedWithItsOrders) {
  PlanRequest request{.shape = {16, 8}, .mesh_shape = {2, 4}};
  request.from = {Shard(0), Replicate()};
  request.to = {Shard(1), Shard(1)};
  EXPECT_EQ(to_string(request), "float32[16, 8] on mesh [2, 4]: S(0),R -> S(1),S(1)");
  request.to_order = ShardOrder::of({{1, {1, 0}}}, request.to);
  EXPECT_NE(to_string(request), "float32[16, 8] on mesh [2, 4]: S(0),R -> S(1),S(1)");
}

TEST(PlanRequest, NamesPlanners) {
  EXPECT_EQ(planner_choice_from_string("automatic"), PlannerChoice::automatic);
  EXPECT_EQ(planner_choice_from_string("greedy"), PlannerChoice::greedy);
  EXPECT_EQ(planner_choice_from_string("graph"), PlannerChoice::graph);
  testing::expect_error([] { planner_choice_from_string("best"); }, ErrorKind::value_error,
                        "automatic, greedy or graph, got 'best'");
}

}  // namespace
}  // namespace simmesh
