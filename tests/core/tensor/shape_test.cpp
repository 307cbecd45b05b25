#include "core/tensor/shape.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

// If this fails, a tensor is allocated with the wrong size.
TEST(Shape, ElementCountIsTheProduct) {
  EXPECT_EQ(numel(Dims{}), 1);
  EXPECT_EQ(numel(Dims{3, 4, 5}), 60);
  EXPECT_EQ(numel(Dims{3, 0, 5}), 0);
  std::int64_t huge = std::int64_t(1) << 62;
  EXPECT_EQ(numel(Dims{huge}), huge);
  EXPECT_EQ(numel(Dims{huge, huge, 0}), 0) << "empty, whatever the rest multiplies to";
}

// If this fails, a hostile shape overflows into a small allocation.
TEST(Shape, NegativeAndOverflowingShapesAreRefused) {
  std::int64_t huge = std::int64_t(1) << 62;
  for (const Dims& shape : {Dims{2, -1}, Dims{0, -1}, Dims{huge, 2}, Dims{huge, huge, 4}}) {
    expect_error([&] { numel(shape); }, ErrorKind::value_error);
  }
}

// If this fails, strides differ from PyTorch's, which recorded cases hold.
TEST(Shape, ContiguousStridesCountEmptyDimsAsOne) {
  EXPECT_EQ(contiguous_strides(Dims{}), Strides{});
  EXPECT_EQ(contiguous_strides(Dims{2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(contiguous_strides(Dims{2, 0, 4}), (Strides{4, 4, 1}));
  EXPECT_EQ(contiguous_strides(Dims{2, 1, 4}), (Strides{4, 4, 1}));
}

// If this fails, loops over coordinates skip or repeat elements.
TEST(Shape, NextIndexWalksRowMajor) {
  Dims shape{2, 1, 3}, index{0, 0, 0}, strides = contiguous_strides(shape);
  std::int64_t expected = 0;
  do {
    EXPECT_EQ(index[0] * strides[0] + index[1] * strides[1] + index[2] * strides[2], expected++);
  } while (next_index(index, shape));
  EXPECT_EQ(expected, 6);
  Dims none;
  EXPECT_FALSE(next_index(none, Dims{})) << "a scalar has one index";
}

// If this fails, error messages and reports print shapes in another form.
TEST(Shape, TextListsTheSizes) {
  EXPECT_EQ(to_string(DimSpan(Dims{2, 3})), "[2, 3]");
  EXPECT_EQ(to_string(DimSpan()), "[]");
}

}  // namespace
}  // namespace simmesh
