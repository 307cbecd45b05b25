#include "checkpoint/save_load/rank_plan.h"

#include <gtest/gtest.h>

namespace simmesh::checkpoint {
namespace {

// Other ranks read a rank's plan as it is, with any characters in names.
TEST(RankPlan, PassesToOtherRanksAsItIs) {
  StateDict state;
  state.add("w \"quoted\"\n", zeros({2, 3}, DType::bfloat16));
  state.add("part", FlatShard{zeros({4}, DType::float32), {3, 2}, {1, 5}});
  state.add("none", zeros({0}, DType::int64));
  state.add("lr", 0.1);
  RankPlan plan = rank_plan(state, local_tensors(state));
  RankPlan read = parse_plan(plan_text(plan));
  ASSERT_EQ(read.tensors.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read.tensors[i].name, plan.tensors[i].name);
    EXPECT_EQ(read.tensors[i].shape, plan.tensors[i].shape);
    EXPECT_EQ(read.tensors[i].dtype, plan.tensors[i].dtype);
    EXPECT_EQ(read.tensors[i].boxes, plan.tensors[i].boxes);
  }
  EXPECT_EQ(read.tensors[0].boxes, (std::vector<Box>{whole(Shape{2, 3})}));
  EXPECT_EQ(read.tensors[1].boxes,
            (std::vector<Box>{{{0, 1}, {1, 1}}, {{1, 0}, {1, 2}}, {{2, 0}, {1, 1}}}));
  EXPECT_TRUE(read.tensors[2].boxes.empty());
  EXPECT_EQ(read.objects, plan.objects);
  EXPECT_EQ(read.objects[0].second, "0.1");
}

}  // namespace
}  // namespace simmesh::checkpoint
