#include "core/ops/functions/grids.h"

#include <gtest/gtest.h>

#include "core/tensor/tensor.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(Grids, OfTwoVectors) {
  Tensor a = tensor_of<float>({2}, {1, 2}), b = tensor_of<float>({3}, {3, 4, 5});
  auto grids = meshgrid({a, b});
  EXPECT_EQ(to_string(grids[0].contiguous()), "float32[2, 3] {1, 1, 1, 2, 2, 2}");
  EXPECT_EQ(to_string(grids[1].contiguous()), "float32[2, 3] {3, 4, 5, 3, 4, 5}");
  auto turned = meshgrid({a, b}, GridIndexing::xy);
  EXPECT_EQ(to_string(turned[0].contiguous()), "float32[3, 2] {1, 2, 1, 2, 1, 2}");
  EXPECT_EQ(to_string(meshgrid({a, full({}, DType::float32, 7)})[1].contiguous()),
            "float32[2, 1] {7, 7}");
  expect_error([] { meshgrid({zeros({1, 1}, DType::float32)}); }, ErrorKind::runtime_error);
}

TEST(Grids, PowersOfAVector) {
  Tensor x = tensor_of<float>({2}, {2, 3}), counts = tensor_of<std::uint8_t>({2}, {16, 3});
  EXPECT_EQ(to_string(vander(x, {.columns = 4})), "float32[2, 4] {8, 4, 2, 1, 27, 9, 3, 1}");
  EXPECT_EQ(to_string(vander(counts, {.columns = 3, .increasing = true})),
            "int64[2, 3] {1, 16, 256, 1, 3, 9}");
  EXPECT_EQ(to_string(vander(x)), "float32[2, 2] {2, 1, 3, 1}");
  EXPECT_EQ(to_string(vander(x, {.columns = 1})), "float32[2, 1] {1, 1}");
  EXPECT_EQ(to_string(vander(x, {.columns = 0}).shape()), "[2, 0]");
  expect_error([&] { vander(x, {.columns = -1}); }, ErrorKind::runtime_error);
  expect_error([] { vander(zeros({2, 2}, DType::float32)); }, ErrorKind::runtime_error);
}

TEST(Grids, PlacesOfTriangles) {
  EXPECT_EQ(to_string(tril_indices({.rows = 2, .columns = 3})), "int64[2, 3] {0, 1, 1, 0, 0, 1}");
  EXPECT_EQ(to_string(triu_indices({.rows = 2, .columns = 3, .diagonal = 1})),
            "int64[2, 3] {0, 0, 1, 1, 2, 2}");
  EXPECT_EQ(to_string(tril_indices({.rows = 2, .columns = 2, .diagonal = -2}).shape()), "[2, 0]");
}

}  // namespace
}  // namespace simmesh
