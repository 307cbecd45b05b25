#include "core/ops/view_shapes.h"

#include <gtest/gtest.h>

#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(ViewShapes, OneSizeIsInferred) {
  EXPECT_EQ(shape_of_sizes(Dims{2, -1}, 6, "view"), (Shape{2, 3}));
  EXPECT_EQ(shape_of_sizes(Dims{-1}, 0, "view"), Shape{0});
  expect_error(
      [] {
        shape_of_sizes(Dims{-1, -1}, 6, "view");
      },
      ErrorKind::runtime_error, "only one dimension can be inferred");
  expect_error(
      [] {
        shape_of_sizes(Dims{4, -1}, 6, "view");
      },
      ErrorKind::runtime_error, "shape '[4, -1]' is invalid for input of size 6");
  expect_error(
      [] {
        shape_of_sizes(Dims{0, -1}, 0, "view");
      },
      ErrorKind::runtime_error, "ambiguous");
  expect_error([] { shape_of_sizes(Dims{-2}, 6, "view"); }, ErrorKind::runtime_error,
               "invalid shape dimension -2");
}

// If this fails, a view of a strided tensor has other elements, or a copy is made for nothing.
TEST(ViewShapes, StridesExistWhereRunsHoldWholeDims) {
  Tensor x = formula({4, 6}, {});
  Strides strides;
  ASSERT_TRUE(view_strides(x, Dims{2, 2, 6}, strides));
  EXPECT_EQ(strides, (Strides{12, 6, 1}));
  Tensor columns = x.narrow({.dim = 1, .start = 0, .length = 3});
  ASSERT_TRUE(view_strides(columns, Dims{2, 2, 3}, strides));
  EXPECT_EQ(strides, (Strides{12, 6, 1}));
  EXPECT_FALSE(view_strides(columns, Dims{12}, strides));
  ASSERT_TRUE(view_strides(x.transpose(0, 1), Dims{2, 3, 4}, strides));
  EXPECT_EQ(strides, (Strides{3, 1, 6}));
  EXPECT_FALSE(view_strides(x.transpose(0, 1), Dims{24}, strides));
}

TEST(ViewShapes, ARepetitionHasTwoDimsForEach) {
  EXPECT_EQ(repeated_shape(Dims{5, 2, 3}, Dims{7, 9}), (Shape{5, 1, 2, 7, 3, 9}));
}

}  // namespace
}  // namespace simmesh
