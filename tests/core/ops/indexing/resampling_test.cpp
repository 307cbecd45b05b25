#include "core/ops/indexing/resampling.h"

#include <gtest/gtest.h>

#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

using Inputs = std::vector<Tensor>;

TEST(Resampling, NearestElements) {
  Tensor x = tensor_of<float>({1, 1, 3}, {1, 2, 3});
  EXPECT_EQ(to_string(upsample_nearest(x, {.scale = 2.0})), "float32[1, 1, 6] {1, 1, 2, 2, 3, 3}");
  EXPECT_EQ(to_string(upsample_nearest(x, {.size = {5}})), "float32[1, 1, 5] {1, 1, 2, 2, 3}");
  Tensor image = tensor_of<float>({1, 1, 1, 2}, {1, 2});
  EXPECT_EQ(to_string(upsample_nearest(image, {.size = {2}})), "float32[1, 1, 2, 2] {1, 2, 1, 2}");
  expect_error([&] { upsample_nearest(x, {}); }, ErrorKind::value_error);
  expect_error([&] { upsample_nearest(x, {.scale = 0.1}); }, ErrorKind::value_error);
}

TEST(Resampling, QuarterTurns) {
  Tensor x = tensor_of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(to_string(rot90(x, 1, Dims{0, 1})), "float32[2, 2] {2, 4, 1, 3}");
  EXPECT_EQ(to_string(rot90(x, 2, Dims{0, 1})), "float32[2, 2] {4, 3, 2, 1}");
  EXPECT_EQ(to_string(rot90(x, -1, Dims{0, 1})), "float32[2, 2] {3, 1, 4, 2}");
  EXPECT_EQ(to_string(rot90(x, 4, Dims{0, 1})), "float32[2, 2] {1, 2, 3, 4}");
  EXPECT_EQ(to_string(rot90(zeros({2, 3}, DType::float32), 3, Dims{0, 1}).shape()), "[3, 2]");
  expect_error([&] { rot90(x, 1, Dims{0, 0}); }, ErrorKind::runtime_error);
}

TEST(Resampling, BlocksOnTheDiagonal) {
  Tensor a = tensor_of<float>({1, 2}, {1, 2}), b = tensor_of<float>({2}, {3, 4});
  EXPECT_EQ(to_string(block_diag(std::vector<Tensor>{a, b})),
            "float32[2, 4] {1, 2, 0, 0, 0, 0, 3, 4}");
}

TEST(Resampling, Gradients) {
  check_gradients({
      {"scale",
       [](const Inputs& x) { return upsample_nearest(x[0], {.scale = 2.0}); },
       {leaf({1, 2, 3}, 1)}},
      {"size",
       [](const Inputs& x) {
         return upsample_nearest(x[0], {.size = {3, 5}});
       },
       {leaf({1, 1, 2, 3}, 2)}},
      {"rot90",
       [](const Inputs& x) {
         return rot90(x[0], 3, Dims{0, 2});
       },
       {leaf({2, 2, 3}, 3)}},
      {"block_diag",
       [](const Inputs& x) { return block_diag(x); },
       {leaf({2, 2}, 4), leaf({1, 2}, 5)}},
  });
}

}  // namespace
}  // namespace simmesh
