#include "core/ops/neural/batch_normalization.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

// Channel 0 has mean 2 and variance 4, channel 1 mean 1 and variance 9.
Tensor two_channels() { return tensor_of<float>({2, 2}, {0, -2, 4, 4}); }

TEST(BatchNormalization, UsesTheBatchInTraining) {
  BatchNorm norm = {.running_mean = tensor_of<float>({2}, {10, 0}),
                    .running_var = tensor_of<float>({2}, {0, 4}),
                    .weight = tensor_of<float>({2}, {1, 2}),
                    .bias = tensor_of<float>({2}, {0, 5}),
                    .training = true,
                    .momentum = 0.5,
                    .eps = 0};
  EXPECT_EQ(to_string(batch_norm(two_channels(), norm)), "float32[2, 2] {-1, 3, 1, 7}");
  // Half of the way to the mean and to the unbiased variance, 8 and 18.
  EXPECT_EQ(to_string(norm.running_mean), "float32[2] {6, 0.5}");
  EXPECT_EQ(to_string(norm.running_var), "float32[2] {4, 11}");
  Tensor image = view(two_channels(), {2, 2, 1, 1});
  EXPECT_EQ(to_string(batch_norm(image, {.training = true, .eps = 0})),
            "float32[2, 2, 1, 1] {-1, -1, 1, 1}");
}

TEST(BatchNormalization, UsesRunningStatisticsOutsideTraining) {
  BatchNorm norm = {.running_mean = tensor_of<float>({2}, {4, 1}),
                    .running_var = tensor_of<float>({2}, {4, 9}),
                    .eps = 0};
  EXPECT_EQ(to_string(batch_norm(two_channels(), norm)), "float32[2, 2] {-2, -1, 0, 1}");
  EXPECT_EQ(to_string(norm.running_mean), "float32[2] {4, 1}");
}

TEST(BatchNormalization, RefusesWhatItCantNormalize) {
  BatchNorm training = {.training = true};
  expect_error(
      [&] {
        batch_norm(zeros({1, 2}, DType::float32), training);
      },
      ErrorKind::value_error);
  expect_error([&] { batch_norm(zeros({2}, DType::float32), training); }, ErrorKind::runtime_error);
  expect_error([] { batch_norm(two_channels(), {}); }, ErrorKind::runtime_error);
  training.weight = zeros({3}, DType::float32);
  expect_error([&] { batch_norm(two_channels(), training); }, ErrorKind::runtime_error);
}

TEST(BatchNormalization, Gradients) {
  using Inputs = std::vector<Tensor>;
  Inputs x = {leaf({3, 2, 2}, 1), leaf({2}, 2, 1.5), leaf({2}, 3)};
  Tensor mean = tensor_of<double>({2}, {0.1, -0.2}), variance = tensor_of<double>({2}, {0.5, 2});
  check_gradients({
      {"training",
       [](const Inputs& in) {
         return batch_norm(in[0], {.weight = in[1], .bias = in[2], .training = true});
       },
       x},
      {"training without weight",
       [](const Inputs& in) { return batch_norm(in[0], {.training = true}); },
       {x[0]}},
      {"running statistics",
       [=](const Inputs& in) {
         return batch_norm(
             in[0],
             {.running_mean = mean, .running_var = variance, .weight = in[1], .bias = in[2]});
       },
       x},
  });
}

// In exact arithmetic the order of the batch changes no bit of statistics and gradients.
TEST(BatchNormalization, ExactStatisticsDontDependOnOrder) {
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  Tensor x = formula({30, 3, 4}, {.rule = Rule::unit, .seed = 8});
  auto weight_gradient = [](const Tensor& batch, const Tensor& upstream) {
    Tensor weight = ones({3}, DType::float32);
    set_requires_grad(weight);
    backward(batch_norm(batch, {.weight = weight, .training = true}), {.gradients = {upstream}});
    return grad_of(weight);
  };
  Tensor upstream = formula({30, 3, 4}, {.rule = Rule::unit, .seed = 9});
  auto turned = [](const Tensor& of) { return flip(of, {0, 2}); };
  EXPECT_TRUE(same_bits(turned(batch_norm(x, {.training = true})),
                        batch_norm(turned(x), {.training = true})));
  EXPECT_TRUE(
      same_bits(weight_gradient(x, upstream), weight_gradient(turned(x), turned(upstream))));
}

}  // namespace
}  // namespace simmesh
