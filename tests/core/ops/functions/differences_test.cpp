#include "core/ops/functions/differences.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise/pointwise.h"
#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(Differences, OfNeighbours) {
  Tensor x = tensor_of<float>({2, 3}, {1, 4, 9, 2, 2, 5});
  EXPECT_EQ(to_string(diff(x)), "float32[2, 2] {3, 5, 0, 3}");
  EXPECT_EQ(to_string(diff(x, {.times = 2})), "float32[2, 1] {2, 3}");
  EXPECT_EQ(to_string(diff(x, {.dim = 0})), "float32[1, 3] {1, -2, -4}");
  EXPECT_EQ(to_string(diff(x, {.times = 9}).shape()), "[2, 0]");
  Tensor zero = zeros({2, 1}, DType::float32);
  EXPECT_EQ(to_string(diff(x, {.prepend = zero})), "float32[2, 3] {1, 3, 5, 2, 0, 3}");
  EXPECT_EQ(to_string(diff(x, {.append = zero})), "float32[2, 3] {3, 5, -9, 0, 3, -5}");
  EXPECT_EQ(to_string(diff(tensor_of<bool>({3}, {true, false, false}))), "bool[2] {true, false}");
  expect_error([] { diff(zeros({}, DType::float32)); }, ErrorKind::runtime_error);
  expect_error([&] { diff(x, {.times = -1}); }, ErrorKind::runtime_error);
}

TEST(Differences, Gradients) {
  check_gradients({{"diff",
                    [](const std::vector<Tensor>& x) { return diff(x[0] * x[0]); },
                    {leaf({2, 3}, 1)}}});
}

}  // namespace
}  // namespace simmesh
