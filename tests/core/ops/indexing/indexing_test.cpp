#include "core/ops/indexing/indexing.h"

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

Tensor index_counted(const Shape& shape) { return arange(numel(shape), DType::int64).view(shape); }

TEST(Indexing, IndicesAreBroadcastAndCountFromTheEnd) {
  Tensor x = index_counted({3, 4});
  Tensor rows = tensor_of<Whole>({2, 1}, {0, -1}), columns = tensor_of<Whole>({2}, {1, 3});
  EXPECT_EQ(to_string(index(x, {rows, columns})), "int64[2, 2] {1, 3, 9, 11}");
  EXPECT_EQ(to_string(index(x, {tensor_of<Whole>({1}, {1})})), "int64[1, 4] {4, 5, 6, 7}");
  EXPECT_EQ(to_string(index(x, {Tensor(), columns})), "int64[3, 2] {1, 3, 5, 7, 9, 11}");
}

// The dims of neighbouring indices replace the first of them; those of others go to the front.
TEST(Indexing, PlaceOfTheIndexedDims) {
  Tensor x = index_counted({2, 3, 4, 5}), one = tensor_of<Whole>({7}, {0, 1, 0, 1, 0, 1, 1});
  EXPECT_EQ(index(x, {Tensor(), one, one}).shape(), (Shape{2, 7, 5}));
  EXPECT_EQ(index(x, {Tensor(), one, Tensor(), one}).shape(), (Shape{7, 2, 4}));
  Tensor picked = index(x, {Tensor(), one, one});
  for (Whole i = 0; i < 7; ++i)
    EXPECT_TRUE(same_bits(select(picked, 1, i).contiguous(),
                          select(select(x, 1, i % 2 || i == 6), 1, i % 2 || i == 6).contiguous()));
}

TEST(Indexing, MasksStandForTheirPlaces) {
  Tensor x = index_counted({2, 2}), mask = tensor_of<bool>({2, 2}, {true, false, false, true});
  EXPECT_EQ(to_string(index(x, {mask})), "int64[2] {0, 3}");
  EXPECT_EQ(to_string(index(x, {tensor_of<bool>({2}, {false, true})})), "int64[1, 2] {2, 3}");
  EXPECT_EQ(to_string(masked_select(x, tensor_of<bool>({2}, {false, true}))), "int64[2] {1, 3}");
  EXPECT_EQ(to_string(nonzero(x)), "int64[3, 2] {0, 1, 1, 0, 1, 1}");
  EXPECT_EQ(nonzero(tensor_of<Whole>({}, {1})).shape(), (Shape{1, 0}));
  Tensor one = full(Shape{}, DType::int64, 4);
  EXPECT_EQ(to_string(masked_select(one, tensor_of<bool>({}, {true}))), "int64[1] {4}");
  EXPECT_EQ(to_string(masked_select(one, tensor_of<bool>({2}, {true, true}))), "int64[2] {4, 4}");
}

// A fixed number of rows leaves out the last indices, or is filled up.
TEST(Indexing, NonzeroOfAFixedNumberOfRows) {
  Tensor x = index_counted({2, 2});
  EXPECT_EQ(to_string(nonzero_static(x, 2)), "int64[2, 2] {0, 1, 1, 0}");
  EXPECT_EQ(to_string(nonzero_static(x, 4, 9)), "int64[4, 2] {0, 1, 1, 0, 1, 1, 9, 9}");
  EXPECT_EQ(nonzero_static(x, 0).shape(), (Shape{0, 2}));
  expect_error([&] { nonzero_static(x, -1); }, ErrorKind::runtime_error, "non-negative");
}

TEST(Indexing, PutWritesOrAdds) {
  Tensor x = zeros(Shape{2, 3}, DType::int64), columns = tensor_of<Whole>({2}, {2, 2});
  EXPECT_EQ(to_string(index_put(x, {Tensor(), columns}, index_counted({2, 2}))),
            "int64[2, 3] {0, 0, 1, 0, 0, 3}");
  EXPECT_EQ(to_string(index_put(x, {Tensor(), columns}, index_counted({2, 2}), true)),
            "int64[2, 3] {0, 0, 1, 0, 0, 5}");
  EXPECT_EQ(to_string(index_put(x, {tensor_of<Whole>({1}, {-1})}, full(Shape{}, DType::int64, 7))),
            "int64[2, 3] {0, 0, 0, 7, 7, 7}");
  EXPECT_EQ(to_string(x), "int64[2, 3] {0, 0, 0, 0, 0, 0}");
}

TEST(Indexing, WrongIndicesAreIndexErrors) {
  auto expect_wrong = [](std::initializer_list<Tensor> indices) {
    expect_error([&] { index(index_counted({2, 3}), indices); }, ErrorKind::index_error);
  };
  expect_wrong({tensor_of<Whole>({1}, {2})});
  expect_wrong({tensor_of<Whole>({1}, {-3})});
  expect_wrong({tensor_of<float>({1}, {0})});
  expect_wrong({tensor_of<bool>({3}, {true, true, true})});
  expect_wrong({tensor_of<Whole>({2}, {0, 0}), tensor_of<Whole>({3}, {0, 0, 0})});
  expect_wrong({Tensor(), Tensor(), tensor_of<Whole>({1}, {0})});
}

}  // namespace
}  // namespace simmesh
