#include "core/optim/matrix/shampoo.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "tests/expect_error.h"

namespace simmesh::optim {
namespace {

Tensor shampoo_parameter(const Shape& shape, const std::vector<double>& gradient) {
  Tensor parameter = zeros(shape, DType::float64), values = zeros(shape, DType::float64);
  std::copy(gradient.begin(), gradient.end(), values.mutable_values<double>().begin());
  set_requires_grad(parameter);
  set_grad(parameter, values);
  return parameter;
}

std::vector<double> after_one_step(const Shape& shape, const std::vector<double>& gradient,
                                   ShampooOptions options = {}) {
  options.lr = 1.0;
  options.ridge = 0x1p-40;
  Tensor parameter = shampoo_parameter(shape, gradient);
  Shampoo shampoo({parameter}, options);
  shampoo.step();
  auto values = parameter.values<double>();
  return {values.begin(), values.end()};
}

// In a direction without gradients the root is 2^20, by the ridge; fewer than 20 roundings of
// values near 1 are multiplied by it.
constexpr double ridge_bound = 20 * 0x1p-33;

// If this fails, a side has the wrong root or the corrections for the first steps are left out: the
// first step of a matrix with one entry a row and column is its sign.
TEST(Shampoo, FirstStepIsTheOrthogonalFactor) {
  std::vector<double> step = after_one_step({2, 3}, {0, 0.5, 0, -2, 0, 0});
  std::vector<double> wanted = {0, -1, 0, 1, 0, 0};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(step[i], wanted[i], ridge_bound) << i;
  // A vector is divided by its length, and so is a row.
  step = after_one_step({2}, {3, 4});
  EXPECT_NEAR(step[0], -0.6, ridge_bound);
  EXPECT_NEAR(step[1], -0.8, ridge_bound);
  EXPECT_NEAR(after_one_step({1, 2}, {3, 4})[1], -0.8, ridge_bound);
  EXPECT_NEAR(after_one_step({1, 1}, {-3})[0], 1.0, ridge_bound);
}

// If this fails, sides that are too large get preconditioners of their size, or the step has not
// the length of the momentum.
TEST(Shampoo, SidesCanBeLeftOutAndLengthsGrafted) {
  EXPECT_EQ(after_one_step({2}, {3, 4}, {.size_max = 1}), (std::vector<double>{-3, -4}));
  std::vector<double> step =
      after_one_step({2, 2}, {3, 0, 0, 4}, {.graft = ShampooGraft::momentum});
  EXPECT_NEAR(step[0], -5 / std::sqrt(2.0), 8 * ridge_bound);
  EXPECT_NEAR(step[3], -5 / std::sqrt(2.0), 8 * ridge_bound);
}

// If this fails, roots are computed in steps that should reuse them, or statistics aren't added up.
TEST(Shampoo, StatisticsAddUpAndRootsAreReused) {
  Tensor parameter = shampoo_parameter({1, 1}, {2});
  Shampoo shampoo({parameter}, {.lr = 0.5, .beta1 = 0, .beta2 = 1, .ridge = 0, .every = 2});
  std::vector<double> roots;
  for (int step = 0; step < 3; ++step) {
    shampoo.step();
    roots.push_back(shampoo.state(0).at("left_root").values<double>()[0]);
  }
  EXPECT_EQ(shampoo.state(0).at("left").values<double>()[0], 12.0);
  EXPECT_EQ(roots[0], roots[1]);
  EXPECT_NEAR(roots[0], 0.5, 0x1p-40);
  EXPECT_NEAR(roots[2], 1 / std::sqrt(12.0), 0x1p-40);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : shampoo.state(0)) names.push_back(name);
  EXPECT_EQ(shampoo.state_names(0), names);
  simmesh::testing::expect_error([&] { Shampoo({parameter}, {.every = 0}); },
                                 ErrorKind::value_error, "every of 1 or more");
}

}  // namespace
}  // namespace simmesh::optim
