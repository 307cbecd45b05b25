#include "checkpoint/catalog/box.h"

#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace simmesh::checkpoint {
namespace {

TEST(Box, IntersectsAsSetsOfIndices) {
  // For all boxes of a line of six, an intersection has exactly the indices of both.
  for (std::int64_t a = 0; a <= 6; ++a)
    for (std::int64_t a_size = 0; a + a_size <= 6; ++a_size)
      for (std::int64_t b = 0; b <= 6; ++b)
        for (std::int64_t b_size = 0; b + b_size <= 6; ++b_size) {
          std::vector<std::int64_t> both;
          for (std::int64_t i = 0; i < 6; ++i)
            if (i >= a && i < a + a_size && i >= b && i < b + b_size) both.push_back(i);
          auto common = intersection({{a}, {a_size}}, {{b}, {b_size}});
          ASSERT_EQ(common.has_value(), !both.empty());
          if (common) {
            EXPECT_EQ(common->offsets[0], both.front());
            EXPECT_EQ(common->sizes[0], std::int64_t(both.size()));
          }
        }
}

TEST(Box, OfATensorWithoutDimsHasOneElement) {
  Box scalar = whole(Shape{});
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_FALSE(scalar.is_empty());
  EXPECT_EQ(intersection(scalar, scalar), scalar);
}

TEST(Box, IsWithinATensorOnlyIfAllOfItIs) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  Shape shape = {4, 6};
  EXPECT_TRUE(is_within({{1, 2}, {3, 4}}, shape));
  EXPECT_TRUE(is_within({{4, 0}, {0, 6}}, shape));
  EXPECT_FALSE(is_within({{2, 0}, {3, 6}}, shape));
  EXPECT_FALSE(is_within({{-1, 0}, {1, 1}}, shape));
  EXPECT_FALSE(is_within({{1, 0}, {huge, 1}}, shape));
  EXPECT_FALSE(is_within({{1}, {1}}, shape));
}

// For every box of up to three dims and every limit, the blocks have the box's elements in order,
// and none could be longer.
TEST(Box, IsCutIntoContiguousBlocks) {
  for (std::int64_t a = 0; a <= 4; ++a)
    for (std::int64_t b = 0; b <= 3; ++b)
      for (std::int64_t c = 0; c <= 3; ++c)
        for (std::int64_t most = 1; most <= a * b * c + 1; ++most) {
          Box box = {{1, 2, 3}, {a, b, c}};
          Strides strides = contiguous_strides(box.sizes);
          std::int64_t end = 0;
          for (const Box& block : contiguous_blocks(box, most)) {
            EXPECT_LE(block.numel(), most);
            ASSERT_GT(block.numel(), 0);
            EXPECT_TRUE(is_within(relative_to(block, box), box.sizes));
            EXPECT_EQ(element_offset(relative_to(block, box).offsets, strides), end);
            Dims last = relative_to(block, box).offsets;
            for (std::size_t dim = 0; dim < 3; ++dim) last[dim] += block.sizes[dim] - 1;
            EXPECT_EQ(element_offset(last, strides), end + block.numel() - 1);
            end += block.numel();
          }
          EXPECT_EQ(end, box.numel());
        }
  EXPECT_EQ(contiguous_blocks({{}, {}}, 1), (std::vector<Box>{{{}, {}}}));
}

TEST(Box, CopiesBetweenStrides) {
  std::vector<std::int32_t> from(24), to(6, -1);
  std::iota(from.begin(), from.end(), 0);
  // Copies columns 1 and 3 of rows 0, 1 and 2 of a 4 x 6 array, transposed.
  copy_box({.sizes = {2, 3}, .element_bytes = 4, .from_strides = {2, 6}, .to_strides = {3, 1}},
           reinterpret_cast<const std::byte*>(&from[1]), reinterpret_cast<std::byte*>(to.data()));
  EXPECT_EQ(to, (std::vector<std::int32_t>{1, 7, 13, 3, 9, 15}));
}

}  // namespace
}  // namespace simmesh::checkpoint
