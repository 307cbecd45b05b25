#include "core/ops/indexing/gathering.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

using Whole = std::int64_t;

Tensor counted(const Shape& shape) {
  return to(arange(numel(shape), DType::int64), DType::float32).view(shape);
}

TEST(Gathering, EmbeddingTakesRows) {
  Tensor weight = counted({3, 2});
  EXPECT_EQ(to_string(embedding(weight, tensor_of<Whole>({2, 1}, {2, 0}))),
            "float32[2, 1, 2] {4, 5, 0, 1}");
  EXPECT_EQ(to_string(embedding(t(counted({2, 3})), tensor_of<std::int32_t>({1}, {1}))),
            "float32[1, 2] {1, 4}");
  expect_error([&] { embedding(weight, tensor_of<Whole>({1}, {3})); }, ErrorKind::index_error);
  expect_error([&] { embedding(weight, tensor_of<Whole>({1}, {-1})); }, ErrorKind::index_error);
  expect_error([&] { embedding(weight, tensor_of<float>({1}, {0})); }, ErrorKind::index_error);
  EXPECT_THROW(embedding(weight, tensor_of<Whole>({1}, {0}), 3), Error);
}

TEST(Gathering, EmbeddingGradientsSkipThePadding) {
  Tensor rows = counted({3, 2});
  EXPECT_EQ(to_string(embedding_dense_backward(rows, tensor_of<Whole>({3}, {1, 0, 1}), {2, -1})),
            "float32[2, 2] {2, 3, 4, 6}");
  EXPECT_EQ(to_string(embedding_dense_backward(rows, tensor_of<Whole>({3}, {1, 0, 1}), {2, 1})),
            "float32[2, 2] {2, 3, 0, 0}");
}

TEST(Gathering, GatherAlongEachDim) {
  Tensor x = counted({2, 3});
  EXPECT_EQ(to_string(gather(x, 1, tensor_of<Whole>({2, 2}, {2, 0, 1, 1}))),
            "float32[2, 2] {2, 0, 4, 4}");
  EXPECT_EQ(to_string(gather(x, 0, tensor_of<Whole>({1, 3}, {1, 0, 1}))),
            "float32[1, 3] {3, 1, 5}");
  EXPECT_EQ(to_string(gather(counted({}), 0, tensor_of<Whole>({}, {0}))), "float32[] {0}");
  EXPECT_EQ(to_string(take_along_dim(x, tensor_of<Whole>({1, 1}, {2}), 1)), "float32[2, 1] {2, 5}");
  expect_error([&] { gather(x, 0, tensor_of<Whole>({1, 1}, {2})); }, ErrorKind::index_error);
  EXPECT_THROW(gather(x, 1, tensor_of<Whole>({3, 1}, {0, 0, 0})), Error);
  EXPECT_THROW(gather(x, 1, tensor_of<Whole>({1}, {0})), Error);
}

TEST(Gathering, ScatterWritesAndTheLastWins) {
  Tensor index = tensor_of<Whole>({1, 3}, {0, 2, 0});
  EXPECT_EQ(to_string(scatter(zeros(Shape{2, 3}, DType::float32), 1, index, counted({2, 4}))),
            "float32[2, 3] {2, 0, 1, 0, 0, 0}");
  EXPECT_EQ(to_string(scatter(counted({1, 3}), 1, index, 9.0)), "float32[1, 3] {9, 1, 9}");
  EXPECT_EQ(to_string(scatter_add(counted({1, 3}), 1, index, ones(Shape{1, 3}, DType::float32))),
            "float32[1, 3] {2, 1, 3}");
  EXPECT_THROW(scatter(counted({1, 3}), 1, index, counted({1, 2})), Error);
  EXPECT_THROW(scatter(counted({1, 3}), 1, index, ones(Shape{1, 3}, DType::float64)), Error);
}

TEST(Gathering, IndexSelectAndIndexAdd) {
  Tensor x = counted({2, 3}), index = tensor_of<Whole>({3}, {2, 0, 2});
  EXPECT_EQ(to_string(index_select(x, 1, index)), "float32[2, 3] {2, 0, 2, 5, 3, 5}");
  EXPECT_EQ(to_string(index_add(zeros(Shape{2, 3}, DType::float32), 1, index, x, 2)),
            "float32[2, 3] {2, 0, 4, 8, 0, 16}");
  EXPECT_EQ(to_string(index_select(t(x), 0, tensor_of<Whole>({1}, {1}))), "float32[1, 2] {1, 4}");
  expect_error([&] { index_select(x, 0, tensor_of<Whole>({1}, {2})); }, ErrorKind::index_error);
  expect_error([&] { index_select(x, 0, tensor_of<Whole>({1, 1}, {0})); }, ErrorKind::index_error);
}

// 256 + 1 + 1 is 258 as a sum that is rounded once, and 256 if each addition is rounded.
TEST(Gathering, SixteenBitSumsAreRoundedOnce) {
  Tensor x = full(Shape{1}, DType::bfloat16, 256), unit = full(Shape{2}, DType::bfloat16, 1);
  EXPECT_EQ(to_string(index_add(x, 0, tensor_of<Whole>({2}, {0, 0}), unit)), "bfloat16[1] {258}");
  EXPECT_EQ(to_string(scatter_add(x, 0, tensor_of<Whole>({2}, {0, 0}), unit)), "bfloat16[1] {258}");
}

TEST(Gathering, TakeReadsTheFlatTensor) {
  Tensor x = counted({2, 3});
  EXPECT_EQ(to_string(take(t(x), tensor_of<Whole>({2, 2}, {0, 1, -1, 2}))),
            "float32[2, 2] {0, 3, 5, 1}");
  expect_error([&] { take(x, tensor_of<Whole>({1}, {6})); }, ErrorKind::index_error);
  expect_error([&] { take(x, tensor_of<Whole>({1}, {-7})); }, ErrorKind::index_error);
  expect_error([&] { take(x, x); }, ErrorKind::index_error);
}

TEST(Gathering, OneHot) {
  EXPECT_EQ(to_string(one_hot(tensor_of<Whole>({2}, {1, 0}))), "int64[2, 2] {0, 1, 1, 0}");
  EXPECT_EQ(to_string(one_hot(tensor_of<Whole>({}, {1}), 3)), "int64[3] {0, 1, 0}");
  expect_error([] { one_hot(tensor_of<Whole>({1}, {3}), 3); }, ErrorKind::index_error);
}

}  // namespace
}  // namespace simmesh
