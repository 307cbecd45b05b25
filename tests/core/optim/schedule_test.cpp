#include <gtest/gtest.h>
#include <limits>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/optim/clip.h"
#include "core/optim/learning_rate.h"
#include "core/optim/loss_scaler.h"
#include "core/optim/sgd.h"
#include "core/tensor/formula.h"

namespace simmesh::optim {
namespace {

TEST(LearningRate, FollowsItsSchedule) {
  EXPECT_EQ(LearningRate::step({.every = 2, .gamma = 0.5}).factor(5), 0.25);
  EXPECT_EQ(LearningRate::multi_step({1, 3}, 0.5).factor(3), 0.25);
  EXPECT_EQ(LearningRate::exponential(0.5).factor(3), 0.125);
  EXPECT_EQ(LearningRate::linear({.steps = 4, .start = 0.0, .end = 1.0}).factor(1), 0.25);
  EXPECT_EQ(LearningRate::linear({.steps = 4, .start = 0.0, .end = 1.0}).factor(9), 1.0);
  EXPECT_EQ(LearningRate::cosine({.steps = 4}).factor(0), 1.0);
  EXPECT_NEAR(LearningRate::cosine({.steps = 4}).factor(2), 0.5, 1e-15);  // rounding of cos(pi/2)
  EXPECT_THROW(LearningRate::cosine({.steps = 0}), Error);
  LearningRate warm =
      LearningRate::linear({.steps = 2, .start = 0.0}).then(2, LearningRate::exponential(0.5));
  EXPECT_EQ(warm.factor(1), 0.5);
  EXPECT_EQ(warm.factor(3), 0.5);
}

TEST(Scheduler, SetsTheRatesOfAllGroups) {
  Tensor a = zeros({1}, DType::float32), b = zeros({1}, DType::float32);
  Sgd sgd(std::vector<Sgd::Group>{{{a}, {.lr = 1.0}}, {{b}, {.lr = 4.0}}});
  Scheduler scheduler(sgd, LearningRate::exponential(0.5));
  scheduler.step();
  EXPECT_EQ(sgd.learning_rates(), (std::vector<double>{0.5, 2.0}));
}

// A new scheduler continues with the rates of the saved one.
TEST(Scheduler, GoesOnFromAState) {
  Tensor a = zeros({1}, DType::float32);
  Sgd sgd({a}, {.lr = 1.0}), other({a}, {.lr = 3.0});
  Scheduler scheduler(sgd, LearningRate::exponential(0.5));
  scheduler.step();
  Scheduler resumed(other, LearningRate::exponential(0.5));
  resumed.load_state(scheduler.state());
  EXPECT_EQ(other.learning_rates(), (std::vector<double>{0.5}));
  resumed.step();
  EXPECT_EQ(other.learning_rates(), (std::vector<double>{0.25}));
  EXPECT_THROW(resumed.load_state({1, {1.0, 2.0}}), Error);
}

Tensor with_gradient(std::initializer_list<float> gradient) {
  Tensor p = zeros({std::int64_t(gradient.size())}, DType::float32);
  set_requires_grad(p);
  set_grad(p, tensor_of<float>({std::int64_t(gradient.size())}, gradient));
  return p;
}

TEST(Clip, ScalesToTheNorm) {
  std::vector<Tensor> all{with_gradient({3, 0}), with_gradient({4})};
  Tensor norm = clip_grad_norm_(all, {.max_norm = 2.5, .eps = 0.0});
  EXPECT_EQ(norm.values<float>()[0], 5.0f);
  EXPECT_EQ(grad_of(all[0]).values<float>()[0], 1.5f);
  EXPECT_EQ(grad_of(all[1]).values<float>()[0], 2.0f);
  EXPECT_EQ(clip_grad_norm_(all, {.max_norm = 100}).values<float>()[0], 2.5f);
  EXPECT_EQ(grad_of(all[1]).values<float>()[0], 2.0f);
  std::vector<Tensor> gradients{grad_of(all[0]), grad_of(all[1])};
  EXPECT_EQ(total_norm(gradients, 1.0).values<float>()[0], 3.5f);
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(total_norm(gradients, infinity).values<float>()[0], 2.0f);
  EXPECT_THROW(total_norm(gradients, 0.0), Error);
  clip_grad_value_(all, 1.75);
  EXPECT_EQ(grad_of(all[1]).values<float>()[0], 1.75f);
}

// Norms don't depend on unrounded sums: a gradient that was saved and loaded has none.
TEST(Clip, NormsAreThoseOfTheRoundedElements) {
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope arithmetic(exact);
  Tensor gradient;
  {
    KeepUnrounded scope;
    gradient = add(full({3}, DType::float32, 0x1p24), full({3}, DType::float32, 1));
  }
  for (double p : {1.0, 2.0, 3.0}) {
    std::vector<Tensor> own = {gradient}, plain = {full({3}, DType::float32, 0x1p24)};
    EXPECT_TRUE(same_bits(total_norm(own, p), total_norm(plain, p))) << p;
  }
}

// In exact arithmetic the norm doesn't depend on how elements are spread over tensors.
TEST(Clip, TheExactNormIgnoresHowElementsAreSpread) {
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  Tensor whole = formula({60}, {.seed = 9});
  for (double p : {1.0, 2.0, 3.0}) {
    Tensor expected = total_norm(std::vector<Tensor>{whole}, p);
    for (std::int64_t size : {1, 7, 20}) {
      std::vector<Tensor> parts;
      for (std::int64_t at = 0; at < 60; at += size)
        parts.push_back(whole.narrow({0, at, std::min(size, 60 - at)}));
      EXPECT_TRUE(same_bits(total_norm(parts, p), expected)) << p << " " << size;
    }
  }
}

TEST(LossScaler, FallsAfterBadStepsAndGrowsAfterGoodOnes) {
  LossScaler plain({.scale = 8.0, .growth_interval = 2});
  EXPECT_FALSE(plain.update(false));
  EXPECT_EQ(plain.scale(), 4.0);
  EXPECT_TRUE(plain.update(true));
  EXPECT_TRUE(plain.update(true));
  EXPECT_EQ(plain.scale(), 8.0);
  EXPECT_EQ(plain.skipped(), 1);
}

TEST(LossScaler, CountsGoodStepsAfterTheDelay) {
  LossScaler scaler({.scale = 8.0, .growth_interval = 2, .growth_delay = 1});
  std::vector<double> scales;
  for (bool is_finite : {true, true, true, true, true, false, true, true, true}) {
    scaler.update(is_finite);
    scales.push_back(scaler.scale());
  }
  EXPECT_EQ(scales, (std::vector<double>{8, 8, 16, 16, 32, 16, 16, 16, 32}));
}

TEST(LossScaler, WithHysteresisWaitsForMoreBadSteps) {
  for (bool consecutive : {false, true}) {
    LossScaler scaler({.scale = 8.0,
                       .growth_interval = 100,
                       .hysteresis = 2,
                       .consecutive_hysteresis = consecutive});
    scaler.update(false);
    EXPECT_EQ(scaler.scale(), 8.0);
    scaler.update(true);
    scaler.update(false);
    EXPECT_EQ(scaler.scale(), consecutive ? 8.0 : 4.0);
  }
  EXPECT_THROW(LossScaler({.scale = 0.0}), Error);
}

TEST(LossScaler, NoticesInfiniteGradients) {
  std::vector<Tensor> all{with_gradient({8, 16})};
  LossScaler scaler({.scale = 8.0});
  EXPECT_TRUE(scaler.unscale_(all));
  EXPECT_EQ(grad_of(all[0]).values<float>()[1], 2.0f);
  all.push_back(with_gradient({std::numeric_limits<float>::infinity()}));
  EXPECT_FALSE(scaler.unscale_(all));
}

}  // namespace
}  // namespace simmesh::optim
