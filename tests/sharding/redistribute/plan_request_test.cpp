#include "sharding/redistribute/plan_request.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

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

// If this fails, bytes and costs of a plan overflow.
TEST(PlanRequest, HasBounds) {
  PlanRequest request{.shape = {1 << 20, 1 << 20}, .mesh_shape = {1 << 10, 1 << 10}};
  check_bounds(request);
  request.dtype = DType::float64;
  testing::expect_error([&] { check_bounds(request); }, ErrorKind::value_error,
                        "expected a tensor of at most 4398046511104 bytes, got float64[1048576, ");
  request.shape = {0, std::numeric_limits<std::int64_t>::max()};
  check_bounds(request);
  request.mesh_shape = {std::numeric_limits<std::int64_t>::max(), 3};
  testing::expect_error([&] { check_bounds(request); }, ErrorKind::value_error,
                        "expected a mesh of at most 1048576 ranks, got [9223372036854775807, 3]");
}

}  // namespace
}  // namespace simmesh
