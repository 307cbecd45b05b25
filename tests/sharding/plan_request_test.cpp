#include "sharding/plan_request.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace simmesh
