#include <gtest/gtest.h>

#include <simmesh/core/check/error.h>
#include <simmesh/core/ops/factories.h>
#include <simmesh/core/ops/rearranging.h>
#include <simmesh/core/ops/views.h>

namespace simmesh {
namespace {

Tensor counted(const Shape& shape) {
  return arange(element_count(shape), DType::int64).view(shape);
}

TEST(Rearranging, RepeatAndTile) {
  EXPECT_EQ(to_string(repeat(counted({2}), {2, 2})), "int64[2, 4] {0, 1, 0, 1, 0, 1, 0, 1}");
  EXPECT_EQ(to_string(tile(counted({2, 1}), {2})), "int64[2, 2] {0, 0, 1, 1}");
  EXPECT_EQ(repeat(counted({2}), {0}).shape(), Shape{0});
  EXPECT_EQ(to_string(repeat_interleave(counted({2, 2}), 2, 0)),
            "int64[4, 2] {0, 1, 0, 1, 2, 3, 2, 3}");
  EXPECT_THROW(repeat(counted({2, 2}), {2}), Error);
}

TEST(Rearranging, PadStartsAtTheLastDim) {
  EXPECT_EQ(to_string(pad(counted({1, 2}), {1, 0, 0, 1}, PadMode::constant, 7)),
            "int64[2, 3] {7, 0, 1, 7, 7, 7}");
  EXPECT_EQ(to_string(pad(counted({4}), {-1, -2})), "int64[1] {1}");
  EXPECT_EQ(to_string(pad(counted({2}), {-3, 4})), "int64[3] {0, 0, 0}");
  EXPECT_EQ(to_string(pad(counted({3}), {2, 1}, PadMode::reflect)), "int64[6] {2, 1, 0, 1, 2, 1}");
  EXPECT_EQ(to_string(pad(counted({3}), {2, 1}, PadMode::replicate)),
            "int64[6] {0, 0, 0, 1, 2, 2}");
  EXPECT_THROW(pad(counted({3}), {3, 0}, PadMode::reflect), Error);
  EXPECT_THROW(pad(counted({3}), {-2, -2}), Error);
  EXPECT_THROW(pad(counted({3}), {1}), Error);
}

TEST(Rearranging, RollMovesElementsAround) {
  EXPECT_EQ(to_string(roll(counted({4}), {1}, {0})), "int64[4] {3, 0, 1, 2}");
  EXPECT_EQ(to_string(roll(counted({4}), {-5}, {0})), "int64[4] {1, 2, 3, 0}");
  EXPECT_EQ(to_string(roll(counted({2, 2}), {1})), "int64[2, 2] {3, 0, 1, 2}");
  EXPECT_EQ(to_string(roll(counted({2, 2}), {1, 1}, {0, 1})), "int64[2, 2] {3, 2, 1, 0}");
  EXPECT_THROW(roll(counted({4}), {1, 2}, {0}), Error);
}

TEST(Rearranging, FlipReversesDims) {
  EXPECT_EQ(to_string(flip(counted({2, 2}), {0})), "int64[2, 2] {2, 3, 0, 1}");
  EXPECT_EQ(to_string(flip(t(counted({2, 2})), {0, -1})), "int64[2, 2] {3, 1, 2, 0}");
  EXPECT_THROW(flip(counted({2}), {0, 0}), Error);
}

TEST(Rearranging, TrianglesOfBatches) {
  EXPECT_EQ(to_string(tril(counted({2, 2, 2}))), "int64[2, 2, 2] {0, 0, 2, 3, 4, 0, 6, 7}");
  EXPECT_EQ(to_string(triu(counted({2, 3}), 1)), "int64[2, 3] {0, 1, 2, 0, 0, 5}");
  EXPECT_EQ(to_string(tril(counted({2, 3}), -1)), "int64[2, 3] {0, 0, 0, 3, 0, 0}");
  EXPECT_THROW(tril(counted({2})), Error);
}

}  // namespace
}  // namespace simmesh
