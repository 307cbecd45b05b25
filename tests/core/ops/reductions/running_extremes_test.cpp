#include "core/ops/reductions/running_extremes.h"

#include <gtest/gtest.h>
#include <limits>

#include "core/ops/elementwise/pointwise.h"
#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(RunningExtremes, KeepTheLastOfEqualOnes) {
  Tensor x = tensor_of<std::int64_t>({2, 4}, {2, 5, 5, 1, 7, 6, 6, 9});
  auto most = cummax(x, 1), least = cummin(x, 1), down = cummax(x, 0);
  EXPECT_EQ(to_string(most.values), "int64[2, 4] {2, 5, 5, 5, 7, 7, 7, 9}");
  EXPECT_EQ(to_string(most.indices), "int64[2, 4] {0, 1, 2, 2, 0, 0, 0, 3}");
  EXPECT_EQ(to_string(least.values), "int64[2, 4] {2, 2, 2, 1, 7, 6, 6, 6}");
  EXPECT_EQ(to_string(least.indices), "int64[2, 4] {0, 0, 0, 3, 0, 1, 2, 2}");
  EXPECT_EQ(to_string(down.values), "int64[2, 4] {2, 5, 5, 1, 7, 6, 6, 9}");
  expect_error([&] { cummax(x, 2); }, ErrorKind::index_error);
}

TEST(RunningExtremes, KeepNan) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = tensor_of<float>({5}, {1, nan, 3, nan, 2});
  EXPECT_EQ(to_string(cummin(x, 0).indices), "int64[5] {0, 1, 1, 3, 3}");
  EXPECT_EQ(to_string(isnan(cummax(x, 0).values)), "bool[5] {false, true, true, true, true}");
  EXPECT_EQ(to_string(cummax(full({}, DType::float32, 4), 0).values), "float32[] {4}");
  EXPECT_EQ(to_string(cummax(zeros({0, 2}, DType::float32), 0).values.shape()), "[0, 2]");
}

TEST(RunningExtremes, Gradients) {
  using Inputs = std::vector<Tensor>;
  check_gradients({
      {"cummax", [](const Inputs& x) { return cummax(x[0] * x[0], 1).values; }, {leaf({2, 5}, 1)}},
      {"cummin", [](const Inputs& x) { return cummin(x[0] * x[0], 0).values; }, {leaf({4, 2}, 2)}},
  });
}

}  // namespace
}  // namespace simmesh
