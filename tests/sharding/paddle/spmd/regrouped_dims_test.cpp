#include "sharding/paddle/spmd/regrouped_dims.h"

#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh::paddle {
namespace {

TEST(RegroupedDims, GroupsAreTheSmallest) {
  EXPECT_EQ(reshape_groups(Shape{4, 8, 16}, Shape{32, 4, 4}),
            (std::vector<DimGroup>{{{0, 1}, {0}}, {{2}, {1, 2}}}));
}

// A size of 1 meets only a size of 1.
TEST(RegroupedDims, OnesStandAlone) {
  EXPECT_EQ(reshape_groups(Shape{8, 1, 8}, Shape{1, 64}),
            (std::vector<DimGroup>{{{}, {0}}, {{0, 2}, {1}}}));
  EXPECT_EQ(reshape_groups(Shape{1, 8}, Shape{1, 8}),
            (std::vector<DimGroup>{{{0}, {0}}, {{1}, {1}}}));
}

TEST(RegroupedDims, TargetsAreFilledIn) {
  EXPECT_EQ(reshape_target(Shape{4, 8, 16}, {-1, 0, 2}), (Shape{32, 8, 2}));
  EXPECT_THROW(reshape_target(Shape{4, 8}, {5, -1}), Error);
  EXPECT_THROW(reshape_target(Shape{4, 8}, {4, 4}), Error);
}

}  // namespace
}  // namespace simmesh::paddle
