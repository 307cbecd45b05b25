#include "sharding/strategies/view_map.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

TEST(ViewMap, GroupsAreTheSmallest) {
  EXPECT_EQ(reshaping_map(Shape{4, 6}, Shape{24}), (ViewMap{{{0, 1}, {0}}}));
  EXPECT_EQ(reshaping_map(Shape{24, 5}, Shape{4, 6, 5}), (ViewMap{{{0}, {0, 1}}, {{1}, {2}}}));
  EXPECT_EQ(reshaping_map(Shape{2, 3, 4}, Shape{3, 2, 4}), (ViewMap{{{0, 1}, {0, 1}}, {{2}, {2}}}));
  EXPECT_EQ(reshaping_map(Shape{4, 1, 3}, Shape{4, 3}), (ViewMap{{{0}, {0}}, {{2}, {1}}}));
  EXPECT_EQ(reshaping_map(Shape{6}, Shape{1, 2, 1, 3, 1}), (ViewMap{{{0}, {1, 3}}}));
  EXPECT_EQ(reshaping_map(Shape{1, 4}, Shape{1, 4}), (ViewMap{{{0}, {0}}, {{1}, {1}}}));
  EXPECT_EQ(reshaping_map(Shape{}, Shape{1, 1}), ViewMap{});
}

// The sizes of an empty tensor don't tell which dims belong together.
TEST(ViewMap, OfNothingOnlyEqualEndsStay) {
  EXPECT_EQ(reshaping_map(Shape{3, 0, 2}, Shape{3, 5, 0, 2}),
            (ViewMap{{{0}, {0}}, {{1}, {2}}, {{2}, {3}}}));
  EXPECT_EQ(reshaping_map(Shape{4, 0}, Shape{0, 2}), (ViewMap{{{0}, {}}, {{1}, {}}}));
}

TEST(ViewMap, NewDimsAndThoseThatAreGoneAreInNoGroup) {
  EXPECT_EQ(permuting_map(Dims{2, -1, 0}), (ViewMap{{{2}, {0}}, {{0}, {2}}}));
}

}  // namespace
}  // namespace simmesh
