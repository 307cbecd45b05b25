#include "core/ops/reductions/logcumsumexp.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "core/autograd/backward.h"
#include "core/ops/shapes/factories.h"
#include "tests/core/gradients/gradient_case.h"

namespace simmesh {
namespace {

constexpr double log_infinity = std::numeric_limits<double>::infinity();

TEST(Logcumsumexp, StaysInRange) {
  Tensor x = tensor_of<double>({2, 3}, {1000, 1000, -1000, -log_infinity, -1000, -1000});
  Tensor y = logcumsumexp(x, 1);
  auto values = y.values<double>();
  EXPECT_EQ(values[0], 1000);
  // One addition and one logarithm are off by two roundings of 1000 at most.
  EXPECT_NEAR(values[1], 1000 + std::log(2.0), 0x1p-43);
  EXPECT_EQ(values[2], values[1]);
  EXPECT_EQ(values[3], -log_infinity);
  EXPECT_EQ(values[4], -1000);
  EXPECT_NEAR(values[5], -1000 + std::log(2.0), 0x1p-43);
  EXPECT_EQ(to_string(logcumsumexp(tensor_of<std::int64_t>({2}, {0, 0}), 0)),
            "float32[2] {0, 0.6931472}");
  EXPECT_EQ(to_string(logcumsumexp(full({}, DType::float32, 2), 0)), "float32[] {2}");
}

TEST(Logcumsumexp, Gradients) {
  using Inputs = std::vector<Tensor>;
  check_gradients({
      {"last dim", [](const Inputs& x) { return logcumsumexp(x[0], -1); }, {leaf({2, 4}, 1)}},
      {"first dim", [](const Inputs& x) { return logcumsumexp(x[0], 0); }, {leaf({3, 2}, 2)}},
  });
}

// Elements that count for nothing have no slope, and no NaN.
TEST(Logcumsumexp, GradientsOfInfinities) {
  Tensor x = tensor_of<double>({3}, {-log_infinity, -1e4, 1e4});
  set_requires_grad(x);
  Tensor gradient = grad({logcumsumexp(x, 0)}, {x}, {.gradients = {ones({3}, DType::float64)}})[0];
  EXPECT_EQ(to_string(gradient), "float64[3] {0, 1, 1}");
}

}  // namespace
}  // namespace simmesh
