#include <cmath>
#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/optim/adam.h"
#include "core/optim/ema.h"
#include "core/optim/sgd.h"
#include "core/tensor/convert.h"

namespace simmesh::optim {
namespace {

Tensor parameter(std::initializer_list<double> values, std::initializer_list<double> gradient) {
  Tensor p = tensor_of<double>({std::int64_t(values.size())}, values);
  set_requires_grad(p);
  set_grad(p, tensor_of<double>({std::int64_t(gradient.size())}, gradient));
  return p;
}

double at(const Tensor& tensor, std::size_t i) { return tensor.values<double>()[i]; }

TEST(Sgd, FollowsItsFormula) {
  Tensor p = parameter({1.0, -2.0}, {0.5, 0.25});
  Sgd plain({p}, {.lr = 0.5});
  plain.step();
  EXPECT_EQ(at(p, 0), 0.75);
  EXPECT_EQ(at(p, 1), -2.125);
  EXPECT_TRUE(plain.state(0).empty());
}

// Momentum, dampening and weight decay by hand: g = 0.5 + 0.25 * 1 = 0.75; b = 0.75; p = 0.25;
// then g = 0.5 + 0.25 * 0.25 = 0.5625; b = 0.5 * 0.75 + 0.75 * 0.5625 = 0.796875.
TEST(Sgd, KeepsMomentum) {
  Tensor p = parameter({1.0}, {0.5});
  Sgd sgd({p}, {.lr = 1.0, .momentum = 0.5, .dampening = 0.25, .weight_decay = 0.25});
  sgd.step();
  EXPECT_EQ(at(p, 0), 0.25);
  sgd.step();
  EXPECT_EQ(at(sgd.state(0).at("momentum_buffer"), 0), 0.796875);
  EXPECT_EQ(at(p, 0), 0.25 - 0.796875);
}

TEST(Sgd, WithNesterovLooksAhead) {
  Tensor p = parameter({1.0}, {0.5});
  Sgd sgd({p}, {.lr = 1.0, .momentum = 0.5, .nesterov = true});
  sgd.step();
  EXPECT_EQ(at(p, 0), 1.0 - 0.75);
  EXPECT_THROW(Sgd({p}, {.nesterov = true}), Error);
}

// As in PyTorch: 1 - 2^-9 * (256 + 0.5 * 1) in float32. The buffer of a momentum would be bfloat16.
TEST(Sgd, AddsANarrowerGradient) {
  Tensor p = full({1}, DType::float32, 1.0);
  set_requires_grad(p);
  set_grad(p, full({1}, DType::bfloat16, 256.0));
  Sgd({p}, {.lr = 0.001953125, .weight_decay = 0.5}).step();
  EXPECT_EQ(p.values<float>()[0], 0.4990234375f);
  EXPECT_THROW(Sgd({p}, {.lr = 1.0, .momentum = 0.5}).step(), Error);
}

TEST(Adam, FollowsItsFormula) {
  for (WeightDecay decay : {WeightDecay::added, WeightDecay::decoupled}) {
    Tensor p = parameter({2.0}, {0.5});
    AdamOptions options{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.125, .weight_decay = 0.25};
    Adam adam({p}, options, decay);
    double x = 2.0, m = 0, v = 0;
    for (int t = 1; t <= 3; ++t) {
      adam.step();
      double g = 0.5;
      if (decay == WeightDecay::decoupled)
        x *= 1.0 - 0.1 * 0.25;
      else
        g += 0.25 * x;
      m = 0.5 * m + 0.5 * g;
      v = 0.75 * v + 0.25 * g * g;
      double b1 = 1.0 - std::pow(0.5, t), b2 = 1.0 - std::pow(0.75, t);
      x -= 0.1 / b1 * (m / (std::sqrt(v) / std::sqrt(b2) + 0.125));
      EXPECT_NEAR(at(p, 0), x, 1e-15);  // a dozen roundings of values near 2
    }
    EXPECT_EQ(adam.steps(0), 3);
  }
}

TEST(Optimizer, LeavesParametersWithoutGradientAloneAndRefusesOneTwice) {
  Tensor p = parameter({1.0}, {0.5}), idle = parameter({1.0}, {0.5});
  set_grad(idle, Tensor());
  AdamW adam({p, idle});
  adam.step();
  EXPECT_EQ(at(idle, 0), 1.0);
  EXPECT_EQ(adam.steps(1), 0);
  EXPECT_THROW(Sgd({p, p}, {}), Error);
  adam.zero_grad();
  EXPECT_FALSE(grad_of(p).is_defined());
}

TEST(Optimizer, StateMovesToAnotherOne) {
  auto run = [](bool moved) {
    Tensor p = parameter({1.0}, {0.5});
    auto adam = std::make_unique<Adam>(std::vector{p}, AdamOptions{});
    adam->step();
    if (moved) {
      auto other = std::make_unique<Adam>(std::vector{p}, AdamOptions{});
      other->load_state(0, adam->state(0), adam->steps(0));
      adam = std::move(other);
    }
    adam->step();
    return p;
  };
  EXPECT_TRUE(same_bits(run(false), run(true)));
}

TEST(Optimizer, ComputesSixteenBitParametersInFloat32) {
  Tensor p = full({1}, DType::bfloat16, 1.0);
  set_requires_grad(p);
  set_grad(p, full({1}, DType::bfloat16, 1.0));
  Sgd({p}, {.lr = 0.0078125, .weight_decay = 0.5}).step();
  // 1 - 2^-7 * 1.5 = 0.98828125 is exact in bfloat16
  EXPECT_EQ(static_cast<float>(p.values<BFloat16>()[0]), 0.98828125f);
}

TEST(Ema, AveragesAndCopiesBack) {
  Tensor p = parameter({1.0}, {0.5});
  std::vector<Tensor> parameters{p};
  Ema ema(parameters, 0.75);
  Sgd({p}, {.lr = 2.0}).step();
  ema.update();
  EXPECT_EQ(at(ema.averages()[0], 0), 0.75);
  ema.copy_to(parameters);
  EXPECT_EQ(at(p, 0), 0.75);
  EXPECT_THROW(Ema({p}, 1.5), Error);
}

// A sum of gradients in float32 that waits beside a 16-bit parameter must not stop a step, and its
// digits must not be lost before the step is rounded.
TEST(Sgd, StepsByAWiderGradient) {
  Tensor half = converted(tensor_of<double>({1}, {2.0}), DType::float16);
  Tensor wide = converted(tensor_of<double>({1}, {-0x1p-10 - 0x1p-21}), DType::float32);
  SgdTensors tensors{half, wide, {}};
  sgd_(gsl::span<SgdTensors>(&tensors, 1), {.lr = 1.0});
  EXPECT_EQ(at(converted(half, DType::float64), 0), 2.0 + 0x1p-9);
}

}  // namespace
}  // namespace simmesh::optim
