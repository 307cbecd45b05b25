#include "core/tensor/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace simmesh {
namespace {

std::int64_t position(const Dims& index, const Strides& strides) {
  std::int64_t at = 0;
  for (std::size_t dim = 0; dim < index.size(); ++dim) at += index[dim] * strides[dim];
  return at;
}

std::int64_t extent(const Dims& shape, const Strides& strides) {
  std::int64_t last = 0;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) last += (shape[dim] - 1) * strides[dim];
  return last + 1;
}

// Returns the strides of a tensor whose dims are in the given order in memory, with `gap` unused
// elements after each row of each dim.
Strides strides_of(const Dims& shape, const std::vector<std::size_t>& order, std::int64_t gap) {
  Strides strides(shape.size());
  std::int64_t stride = gap > 0 ? 2 : 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= shape[order[i]] + gap;
  }
  return strides;
}

void expect_like_naive(const Dims& shape, const Strides& to, const Strides& from,
                       std::size_t element) {
  std::vector<std::byte> source(std::size_t(extent(shape, from)) * element);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = std::byte(i * 37 % 255);
  std::vector<std::byte> before(std::size_t(extent(shape, to)) * element, std::byte{0xEE});
  std::vector<std::byte> expected = before;
  Dims index(shape.size(), 0);
  do {
    std::memcpy(expected.data() + std::size_t(position(index, to)) * element,
                source.data() + std::size_t(position(index, from)) * element, element);
  } while (next_index(index, shape));
  for (InstructionSet set : available_instruction_sets()) {
    std::vector<std::byte> target = before;
    StridedCopy copy(to, from, shape, element, set);
    copy(target.data(), source.data());
    ASSERT_EQ(target, expected) << to_string(shape) << " to " << to_string(to) << " from "
                                << to_string(from) << " of " << element << " bytes on "
                                << to_string(set);
    target = before;
    copy.past_caches(target.data(), source.data());
    ASSERT_EQ(target, expected) << to_string(shape) << " past the caches";
  }
}

// If this fails, a shard is scattered wrongly, or bytes between its elements are overwritten.
TEST(StridedCopy, EqualsElementByElementForEveryLayout) {
  for (const Dims& shape : {Dims{1}, Dims{5}, Dims{2, 3}, Dims{3, 1}, Dims{1, 4}, Dims{2, 3, 4},
                            Dims{1, 2, 1}, Dims{2, 1, 3}, Dims{3, 2, 2}}) {
    std::vector<std::vector<std::size_t>> orders(1);
    for (std::size_t dim = 0; dim < shape.size(); ++dim) orders[0].push_back(dim);
    while (orders.push_back(orders.back()),
           std::next_permutation(orders.back().begin(), orders.back().end())) {
    }
    for (const auto& to : orders)
      for (const auto& from : orders)
        for (std::int64_t to_gap : {0, 1})
          for (std::int64_t from_gap : {0, 2})
            for (std::size_t element : {1u, 2u, 4u, 8u})
              expect_like_naive(shape, strides_of(shape, to, to_gap),
                                strides_of(shape, from, from_gap), element);
  }
}

// If this fails, a row-major block with one gap dim (a shard of dim 0 or 1) is copied wrongly.
TEST(StridedCopy, PartlyMergedDims) {
  for (const Strides& to : {Strides{12, 4, 1}, Strides{20, 4, 1}, Strides{24, 8, 1}})
    for (const Strides& from : {Strides{12, 4, 1}, Strides{20, 4, 1}, Strides{24, 8, 1},
                                Strides{0, 4, 1}, Strides{4, 0, 1}, Strides{0, 0, 0}})
      for (std::size_t element : {1u, 2u, 4u, 8u}) expect_like_naive({2, 3, 4}, to, from, element);
}

// If this fails, a short contiguous block is cut off or runs over: each size has code of its own.
TEST(StridedCopy, BlocksOfEverySize) {
  for (std::int64_t size = 1; size <= 270; ++size)
    for (std::int64_t gap : {0, 3})
      expect_like_naive({2, 3, size}, {3 * (size + 1), size + 1, 1},
                        {4 * (size + gap), size + gap, 1}, 1);
}

// If this fails, a long block is cut off, or bytes between blocks that go past the caches change.
TEST(StridedCopy, LongBlocks) {
  for (std::int64_t size : {511, 512, 513, 640, 1000})
    for (std::int64_t gap : {0, 3, 64}) {
      std::int64_t row = size + gap;
      expect_like_naive({2, 2, 3, size}, {7 * row, 3 * row, row, 1}, {6 * size, 3 * size, size, 1},
                        1);
      expect_like_naive({2, 2, 3, size}, {6 * size, 3 * size, size, 1}, {row, 2 * row, 4 * row, 1},
                        1);
    }
}

// If this fails, a transposed matrix is wrong in one of its squares or at its edges.
TEST(StridedCopy, TransposedMatricesOfEverySize) {
  for (std::int64_t rows : {1, 2, 3, 4, 7, 8, 15, 16, 17, 33, 70})
    for (std::int64_t columns : {1, 2, 4, 5, 8, 16, 31, 64, 65, 130})
      for (std::int64_t gap : {0, 1})
        for (std::size_t element : {1u, 2u, 4u, 8u}) {
          expect_like_naive({rows, columns}, {columns + gap, 1}, {1, rows + gap}, element);
          expect_like_naive({rows, columns}, {1, rows + gap}, {columns + gap, 1}, element);
          expect_like_naive({2, rows, columns}, {rows * (columns + gap), columns + gap, 1},
                            {columns * (rows + gap), 1, rows + gap}, element);
        }
}

// If this fails, a copy of more loops than its innermost two goes astray.
TEST(StridedCopy, ManyDims) {
  Dims shape(7, 2);
  Strides to(7), from(7);
  for (std::size_t dim = 0; dim < 7; ++dim) {
    to[dim] = std::int64_t(1) << (2 * (6 - dim));
    from[dim] = std::int64_t(1) << dim;
  }
  expect_like_naive(shape, to, from, 2);
  expect_like_naive(shape, from, to, 4);
}

// If this fails, scalars or empty arrays are copied wrongly.
TEST(StridedCopy, ScalarsAndEmptyArrays) {
  expect_like_naive({}, {}, {}, 4);
  std::byte target{1};
  std::byte source{2};
  strided_copy({&target, Strides{3, 1}}, {&source, Strides{3, 1}}, Dims{0, 3}, 1);
  strided_copy({&target, Strides{1, 1}}, {&source, Strides{1, 1}}, Dims{3, 0}, 1);
  EXPECT_EQ(target, std::byte{1});
}

}  // namespace
}  // namespace simmesh
