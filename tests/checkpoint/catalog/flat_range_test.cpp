#include "checkpoint/catalog/flat_range.h"

#include <gtest/gtest.h>

namespace simmesh::checkpoint {
namespace {

// Returns the row-major places of a box's elements in its tensor.
std::vector<std::int64_t> flat_indices(const Box& box, DimSpan shape) {
  Strides strides = contiguous_strides(shape);
  std::vector<std::int64_t> places;
  Dims index(shape.size(), 0);
  do {
    std::int64_t place = 0;
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      place += (box.offsets[dim] + index[dim]) * strides[dim];
    places.push_back(place);
  } while (next_index(index, box.sizes));
  return places;
}

// For every range of every small shape, the boxes in order have the elements of the range.
TEST(FlatRange, BoxesAreTheRangeInOrder) {
  std::vector<Shape> shapes = {{}, {1}, {7}, {1, 1}, {2, 3}, {3, 1, 2}, {2, 3, 4}, {2, 1, 2, 3}};
  for (const Shape& shape : shapes) {
    std::int64_t count = simmesh::numel(shape);
    for (std::int64_t begin = 0; begin <= count; ++begin)
      for (std::int64_t end = begin; end <= count; ++end) {
        std::vector<Box> boxes = boxes_of_range(shape, {begin, end});
        EXPECT_LE(boxes.size(), std::max<std::size_t>(2 * shape.size(), 1));
        std::int64_t next = begin;
        for (const Box& box : boxes) {
          ASSERT_TRUE(is_within(box, shape)) << simmesh::to_string(shape) << to_string(box);
          for (std::int64_t place : flat_indices(box, shape))
            ASSERT_EQ(place, next++) << simmesh::to_string(shape) << begin << ":" << end;
        }
        ASSERT_EQ(next, end) << simmesh::to_string(shape) << begin << ":" << end;
      }
  }
}

TEST(FlatRange, OfNothingHasNoBoxes) {
  EXPECT_TRUE(boxes_of_range(Shape{0, 3}, {0, 0}).empty());
  EXPECT_TRUE(boxes_of_range(Shape{3}, {2, 2}).empty());
  EXPECT_EQ((FlatRange{2, 5}.numel()), 3);
}

}  // namespace
}  // namespace simmesh::checkpoint
