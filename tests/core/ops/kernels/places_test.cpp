#include "core/ops/kernels/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

Tensor indices(std::initializer_list<std::int64_t> values) {
  return tensor_of<std::int64_t>({std::int64_t(values.size())}, values);
}

// If this fails, an index below zero or beyond the end reads memory of something else.
TEST(Places, IndicesAreCheckedAndWrapped) {
  IndexRule rule{.dim = 1, .size = 4, .where = "take"};
  EXPECT_THAT(checked_indices(indices({3, 0}), rule), ElementsAre(3, 0));
  expect_error([&] { checked_indices(indices({4}), rule); }, ErrorKind::index_error,
               "index 4 is out of bounds for dimension 1 with size 4");
  expect_error([&] { checked_indices(indices({-1}), rule); }, ErrorKind::index_error, "index -1");
  rule.wraps = true;
  EXPECT_THAT(checked_indices(indices({-1, -4}), rule), ElementsAre(3, 0));
  expect_error([&] { checked_indices(indices({-5}), rule); }, ErrorKind::index_error, "index -5");
}

TEST(Places, IndicesHaveAnIntegerDtypeAndAFittingShape) {
  expect_error(
      [] {
        check_index_type({{2}, DType::float32}, "take");
      },
      ErrorKind::index_error, "int64 or int32, got float32");
  expect_error(
      [] {
        check_index_vector({{2, 2}, DType::int64}, "take");
      },
      ErrorKind::index_error, "supposed to be a vector, but got [2, 2]");
  TensorType x{{2, 3}, DType::float32}, fitting{{2, 9}, DType::int64}, tall{{3, 1}, DType::int64};
  check_gather({.x = x, .index = fitting, .dim = 1}, "gather");
  expect_error([&] { check_gather({.x = x, .index = tall, .dim = 1}, "gather"); },
               ErrorKind::runtime_error, "got the shapes [3, 1] and [2, 3]");
}

// If this fails, gather takes the element of another row.
TEST(Places, ElementsLieWhereTheIndexSaysAlongOneDim) {
  Tensor index = tensor_of<std::int64_t>({2, 2}, {2, 0, 1, 1});
  EXPECT_THAT(element_places({2, 3}, 1, index, "gather"), ElementsAre(2, 0, 4, 4));
  EXPECT_THAT(element_places({3, 2}, 0, index, "gather"), ElementsAre(4, 1, 2, 3));
  EXPECT_THAT(places_along({2, 3, 5}, 1, {2, 0}), ElementsAre(2, 0, 5, 3));
  EXPECT_EQ(block_after({2, 3, 5}, 1), 5);
  EXPECT_EQ(with_dims({}), Shape{1});
}

TEST(Places, BlocksAreTakenAndPutAndSkippedAtMinusOne) {
  Tensor x = tensor_of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor taken = tensor_of<float>({3, 2}, {0, 0, 0, 0, 0, 0});
  take_blocks(x, {2, -1, 0}, 2, taken);
  EXPECT_EQ(to_string(taken), "float32[3, 2] {5, 6, 0, 0, 1, 2}");
  put_blocks(x, {1, -1, 1}, 2, tensor_of<float>({3, 2}, {7, 7, 8, 8, 9, 9}));
  EXPECT_EQ(to_string(x), "float32[3, 2] {1, 2, 9, 9, 5, 6}");
}

}  // namespace
}  // namespace simmesh
