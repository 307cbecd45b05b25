#include "core/ops/view_arguments.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

SliceRange sliced(const SliceRange& range, const Shape& shape) {
  return slice_of(slice_attributes(range), shape);
}

// If this fails, a slice reads beyond its tensor, or its gradient goes to other elements.
TEST(ViewArguments, BoundsOfASliceAreCutToTheTensor) {
  SliceRange found = sliced({.dim = -1, .start = -3, .end = 99, .step = 2}, {2, 5});
  EXPECT_EQ(found.dim, 1);
  EXPECT_EQ(found.start, 2);
  EXPECT_EQ(found.end, 5);
  EXPECT_EQ(found.step, 2);
  SliceRange none = sliced({.start = 4, .end = 1}, {5});
  EXPECT_EQ(none.start, none.end);
  expect_error([] { sliced({}, {}); }, ErrorKind::runtime_error, "0-dim tensor");
  expect_error([] { sliced({.step = 0}, {5}); }, ErrorKind::runtime_error,
               "slice step must be positive, got 0");
}

TEST(ViewArguments, ADiagonalComesBackFromTheArguments) {
  Diagonal found = diagonal_of(diagonal_attributes({.offset = -2, .dim0 = 3, .dim1 = 1}));
  EXPECT_EQ(found.offset, -2);
  EXPECT_EQ(found.dim0, 3);
  EXPECT_EQ(found.dim1, 1);
}

TEST(ViewArguments, AnOrderNamesEachDimOnce) {
  EXPECT_EQ(wrapped_order(Dims{-1, 0, 1}, 3), (Dims{2, 0, 1}));
  expect_error([] { wrapped_order(Dims{0, 1}, 3); }, ErrorKind::runtime_error, "len(dims) = 2");
  expect_error(
      [] {
        wrapped_order(Dims{0, 1, -2}, 3);
      },
      ErrorKind::runtime_error, "dim 1 appears multiple times");
}

}  // namespace
}  // namespace simmesh
