#include "zero/engine/engine.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/nn/linear.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/optim/sgd.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

std::unique_ptr<optim::Optimizer> make_sgd(const std::vector<nn::NamedTensor>& masters) {
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : masters) tensors.push_back(tensor);
  return std::make_unique<optim::Sgd>(tensors, optim::SgdOptions{.lr = 0.25});
}

std::unique_ptr<nn::Linear> small_linear(DType dtype) {
  auto model = std::make_unique<nn::Linear>(nn::Linear::Options{3, 2, false, {.dtype = dtype}});
  Tensor weight = model->parameter("weight").detach();
  copy_(weight, formula({2, 3}, {.rule = Rule::small, .seed = 1, .dtype = dtype}));
  return model;
}

// Returns count rows of the data from row `first` on. They are small numbers, whose sums don't
// round.
Tensor rows(std::int64_t first, std::int64_t count, DType dtype = DType::float32) {
  return formula({8, 3}, {.rule = Rule::small, .seed = 5, .dtype = dtype})
      .narrow({.dim = 0, .start = first, .length = count});
}

// The mean over the batch of row sums, so the gradient of a weight is the mean of its inputs.
Tensor loss_of(const Tensor& output) {
  return div(sum(to(output, DType::float32)), double(output.size(0)));
}

Tensor trained(std::int64_t rank, std::int64_t ranks, std::int64_t micro_batches) {
  std::unique_ptr<nn::Linear> model = small_linear(DType::float32);
  Engine engine = initialize(
      *model, make_sgd, {.gradient_accumulation_steps = micro_batches, .gradient_clipping = 0},
      ranks == 1 ? ProcessGroup::of(RankList::of({std::int64_t(this_rank().id())}))
                 : ProcessGroup::world());
  std::int64_t size = 8 / ranks / micro_batches;
  for (std::int64_t micro = 0; micro < micro_batches; ++micro) {
    EXPECT_FALSE(engine.is_gradient_accumulation_boundary());
    engine.step();
    engine.backward(loss_of(engine(rows((rank * micro_batches + micro) * size, size))));
  }
  EXPECT_TRUE(engine.is_gradient_accumulation_boundary());
  engine.step();
  EXPECT_TRUE(engine.was_step_applied());
  return model->parameter("weight").detach();
}

// If this fails, gradients aren't means over members and micro-batches.
SIMMESH_TEST(ZeroEngine, EqualsOneDevice, {.mesh = {4}, .schedules = 20}) {
  Tensor expected = trained(0, 1, 1);
  EXPECT_SAME_BITS(trained(mesh.get_rank(), 4, 1), expected);
  EXPECT_SAME_BITS(trained(mesh.get_rank(), 4, 2), expected);
}

// If this fails, a step with an infinite gradient changes parameters or leaves the scale as it is.
SIMMESH_TEST(ZeroEngine, SkipsAStepWhoseGradientsAreNotFinite, {.mesh = {2}, .schedules = 8}) {
  std::unique_ptr<nn::Linear> model = small_linear(DType::float16);
  Engine engine = initialize(*model, make_sgd,
                             {.gradient_clipping = 0,
                              .fp16 = {.enabled = true, .initial_scale_power = 3, .hysteresis = 1}},
                             ProcessGroup::world());
  Tensor before = model->parameter("weight").detach().clone();
  Tensor input = rows(0, 2, DType::float16).clone();
  if (mesh.get_rank() == 1) input.mutable_values<Half>()[0] = Half(INFINITY);
  engine.backward(loss_of(engine(input)));
  engine.step();
  EXPECT_FALSE(engine.was_step_applied());
  EXPECT_EQ(engine.get_global_grad_norm(), INFINITY);
  EXPECT_EQ(engine.loss_scale(), 4.0);
  EXPECT_SAME_BITS(model->parameter("weight").detach(), before);
  engine.backward(loss_of(engine(rows(0, 2, DType::float16))));
  engine.step();
  EXPECT_TRUE(engine.was_step_applied());
  EXPECT_SAME_BITS(model->parameter("weight").detach(),
                   to(engine.masters()[0].second.detach(), DType::float16));
}

Config fp16_config(std::int64_t stage, const Fp16& fp16) {
  Config config{.gradient_clipping = 0, .zero_allow_untested_optimizer = true, .fp16 = fp16};
  config.zero_optimization.stage = stage;
  return config;
}

// Bug: on the step on which the loss scale doubles, the update was halved.
SIMMESH_TEST(ZeroEngine, AGrowingScaleDoesNotChangeTheUpdate, {.mesh = {2}, .schedules = 4}) {
  for (std::int64_t stage = 0; stage <= 2; ++stage) {
    std::unique_ptr<nn::Linear> fixed = small_linear(DType::float16);
    std::unique_ptr<nn::Linear> growing = small_linear(DType::float16);
    Engine expected =
        initialize(*fixed, make_sgd, fp16_config(stage, {.enabled = true, .loss_scale = 8}),
                   ProcessGroup::world());
    Engine actual = initialize(
        *growing, make_sgd,
        fp16_config(stage, {.enabled = true, .initial_scale_power = 3, .loss_scale_window = 2}),
        ProcessGroup::world());
    for (std::int64_t step = 0; step < 5; ++step)
      for (Engine* engine : {&expected, &actual}) {
        engine->backward(loss_of((*engine)(rows(2 * mesh.get_rank(), 2, DType::float16))));
        engine->step();
      }
    EXPECT_EQ(actual.loss_scale(), 32.0);
    EXPECT_SAME_BITS(growing->parameter("weight").detach(), fixed->parameter("weight").detach());
    EXPECT_EQ(actual.get_global_grad_norm(), expected.get_global_grad_norm());
  }
}

SIMMESH_TEST(ZeroEngine, StopsWhereTheScaleCanNotFall, {.mesh = {1}, .schedules = 1}) {
  std::unique_ptr<nn::Linear> model = small_linear(DType::float16);
  Engine engine =
      initialize(*model, make_sgd,
                 fp16_config(1, {.enabled = true, .initial_scale_power = 1, .hysteresis = 1}),
                 ProcessGroup::world());
  Tensor input = rows(0, 2, DType::float16).clone();
  input.mutable_values<Half>()[0] = Half(INFINITY);
  engine.backward(loss_of(engine(input)));
  engine.step();
  EXPECT_EQ(engine.loss_scale(), 1.0);
  engine.backward(loss_of(engine(input)));
  expect_error([&] { engine.step(); }, ErrorKind::runtime_error, "the smallest loss scale, 1");
}

// Clipping limits the step, and the reported norm is the one before clipping.
SIMMESH_TEST(ZeroEngine, Clips, {.mesh = {2}, .schedules = 4}) {
  std::unique_ptr<nn::Linear> model = small_linear(DType::float32);
  Engine engine = initialize(*model, make_sgd, {.gradient_clipping = 0.5}, ProcessGroup::world());
  Tensor before = model->parameter("weight").detach().clone();
  engine.backward(loss_of(engine(rows(0, 4))));
  engine.step();
  EXPECT_GT(*engine.get_global_grad_norm(), 1.0);
  Tensor moved = sub(model->parameter("weight").detach(), before);
  double length = std::sqrt(double(sum(mul(moved, moved)).values<float>()[0]));
  // Expected is 0.25 * 0.5; each of six operations rounds by at most 2^-24 of its result.
  EXPECT_NEAR(length, 0.125, 0.125 * 16 * 0x1p-24);
}

TEST(ZeroEngine, RefusesConfigsThatMakeNoSense) {
  World world({.ranks = 1});
  Outcome outcome = world.run([](Rank&) {
    std::unique_ptr<nn::Linear> model = small_linear(DType::float32);
    ProcessGroup group = ProcessGroup::world();
    expect_error([&] { initialize(*model, make_sgd, {.gradient_accumulation_steps = 0}, group); },
                 ErrorKind::value_error, "at least 1 gradient accumulation step, got 0");
    expect_error([&] { initialize(*model, make_sgd, {.gradient_clipping = -1}, group); },
                 ErrorKind::value_error,
                 "gradient_clipping: expected a number greater than or equal to 0, got -1");
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh::zero
