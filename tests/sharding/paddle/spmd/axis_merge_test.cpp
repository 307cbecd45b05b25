#include "sharding/paddle/spmd/axis_merge.h"

#include <gtest/gtest.h>

namespace simmesh::paddle {
namespace {

const SpmdCall any_call{.op = "op", .mesh_shape = {2, 2}, .inputs = {}};

// Where two axes want one mesh dim, the one that was met first keeps it.
TEST(AxisMerge, FirstAxisKeepsAMeshDim) {
  AxisMeshDims merged = merge_axes(any_call, {{"ab", {0, -1}}, {"bc", {1, 0}}});
  EXPECT_EQ(merged.layout("abc1d"), (Dims{0, 1, -1, -1, -1}));
  EXPECT_EQ(to_string(merged.partial_attr("a")), "[[0]] partial {1: sum}");
}

TEST(AxisMerge, BroadcastDimsTakeUpMeshDims) {
  EXPECT_EQ(merge_axes(any_call, {{"1", {0}}, {"a", {0}}}).layout("a"), (Dims{-1}));
}

TEST(AxisMerge, RefusesTwoMeshDimsOnAnAxis) {
  EXPECT_THROW(merge_axes(any_call, {{"a", {0}}, {"a", {1}}}), Error);
}

// The strict merge refuses cases that the other one decides.
TEST(AxisMerge, StrictMergeRefusesASecondAxis) {
  std::vector<AxisOperand> operands{{"a", {0}}, {"j", {0}}};
  EXPECT_EQ(merge_axes(any_call, operands).layout("aj"), (Dims{0, -1}));
  EXPECT_THROW(merge_axes_strictly(any_call, operands), Error);
  EXPECT_EQ(merge_axes_strictly(any_call, {{"a", {0}}}).layout("a"), (Dims{0}));
}

TEST(AxisMerge, LettersCountFromTheBackInABroadcast) {
  EXPECT_EQ(letters(3), "abc");
  EXPECT_EQ(broadcast_letters(Shape{1, 16}, 3), "1c");
  EXPECT_THROW(letters(27), Error);
}

}  // namespace
}  // namespace simmesh::paddle
