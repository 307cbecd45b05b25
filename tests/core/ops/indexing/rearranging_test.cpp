#include "core/ops/indexing/rearranging.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {
namespace {

Tensor rearranged_counted(const Shape& shape) {
  return arange(numel(shape), DType::int64).view(shape);
}

TEST(Rearranging, RepeatAndTile) {
  EXPECT_EQ(to_string(repeat(rearranged_counted({2}), {2, 2})),
            "int64[2, 4] {0, 1, 0, 1, 0, 1, 0, 1}");
  EXPECT_EQ(to_string(tile(rearranged_counted({2, 1}), {2})), "int64[2, 2] {0, 0, 1, 1}");
  EXPECT_EQ(repeat(rearranged_counted({2}), {0}).shape(), Shape{0});
  EXPECT_EQ(to_string(repeat_interleave(rearranged_counted({2, 2}), 2, 0)),
            "int64[4, 2] {0, 1, 0, 1, 2, 3, 2, 3}");
  EXPECT_THROW(repeat(rearranged_counted({2, 2}), {2}), Error);
}

TEST(Rearranging, PadStartsAtTheLastDim) {
  EXPECT_EQ(to_string(pad(rearranged_counted({1, 2}), {1, 0, 0, 1}, PadMode::constant, 7)),
            "int64[2, 3] {7, 0, 1, 7, 7, 7}");
  EXPECT_EQ(to_string(pad(rearranged_counted({4}), {-1, -2})), "int64[1] {1}");
  EXPECT_EQ(to_string(pad(rearranged_counted({2}), {-3, 4})), "int64[3] {0, 0, 0}");
  EXPECT_EQ(to_string(pad(rearranged_counted({3}), {2, 1}, PadMode::reflect)),
            "int64[6] {2, 1, 0, 1, 2, 1}");
  EXPECT_EQ(to_string(pad(rearranged_counted({3}), {2, 1}, PadMode::replicate)),
            "int64[6] {0, 0, 0, 1, 2, 2}");
  EXPECT_THROW(pad(rearranged_counted({3}), {3, 0}, PadMode::reflect), Error);
  EXPECT_THROW(pad(rearranged_counted({3}), {-2, -2}), Error);
  EXPECT_THROW(pad(rearranged_counted({3}), {1}), Error);
}

TEST(Rearranging, RollMovesElementsAround) {
  EXPECT_EQ(to_string(roll(rearranged_counted({4}), {1}, {0})), "int64[4] {3, 0, 1, 2}");
  EXPECT_EQ(to_string(roll(rearranged_counted({4}), {-5}, {0})), "int64[4] {1, 2, 3, 0}");
  EXPECT_EQ(to_string(roll(rearranged_counted({2, 2}), {1})), "int64[2, 2] {3, 0, 1, 2}");
  EXPECT_EQ(to_string(roll(rearranged_counted({2, 2}), {1, 1}, {0, 1})),
            "int64[2, 2] {3, 2, 1, 0}");
  EXPECT_THROW(roll(rearranged_counted({4}), {1, 2}, {0}), Error);
}

TEST(Rearranging, FlipReversesDims) {
  EXPECT_EQ(to_string(flip(rearranged_counted({2, 2}), {0})), "int64[2, 2] {2, 3, 0, 1}");
  EXPECT_EQ(to_string(flip(t(rearranged_counted({2, 2})), {0, -1})), "int64[2, 2] {3, 1, 2, 0}");
  EXPECT_THROW(flip(rearranged_counted({2}), {0, 0}), Error);
}

TEST(Rearranging, TrianglesOfBatches) {
  EXPECT_EQ(to_string(tril(rearranged_counted({2, 2, 2}))),
            "int64[2, 2, 2] {0, 0, 2, 3, 4, 0, 6, 7}");
  EXPECT_EQ(to_string(triu(rearranged_counted({2, 3}), 1)), "int64[2, 3] {0, 1, 2, 0, 0, 5}");
  EXPECT_EQ(to_string(tril(rearranged_counted({2, 3}), -1)), "int64[2, 3] {0, 0, 0, 3, 0, 0}");
  EXPECT_THROW(tril(rearranged_counted({2})), Error);
}

TEST(Rearranging, RepeatsEachElementAsOftenAsItsCount) {
  Tensor x = tensor_of<float>({2, 2}, {1, 2, 3, 4}), counts = tensor_of<std::int64_t>({2}, {0, 3});
  EXPECT_EQ(to_string(repeat_interleave(x, counts, 1)), "float32[2, 3] {2, 2, 2, 4, 4, 4}");
  EXPECT_EQ(to_string(repeat_interleave(x, tensor_of<std::int64_t>({1}, {2}), 0)),
            "float32[4, 2] {1, 2, 1, 2, 3, 4, 3, 4}");
  EXPECT_THROW(repeat_interleave(x, tensor_of<std::int64_t>({2}, {1, -1}), 0), Error);
  EXPECT_THROW(repeat_interleave(x, tensor_of<std::int64_t>({3}, {1, 1, 1}), 0), Error);
}

}  // namespace
}  // namespace simmesh
