#include <cmath>
#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "core/nn/linear.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"
#include "zero/engine/configured_optimizer.h"
#include "zero/engine/engine.h"
#include "zero/engine/whole_step.h"
#include "zero/stage3/gathered_parameters.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

std::unique_ptr<nn::Linear> exact_linear(DType dtype = DType::float32) {
  auto model = std::make_unique<nn::Linear>(nn::Linear::Options{3, 2, false, {.dtype = dtype}});
  Tensor weight = model->parameter("weight").detach();
  copy_(weight, formula({2, 3}, {.rule = Rule::small, .seed = 1, .dtype = dtype}));
  return model;
}

// Small numbers, whose sums don't round, so the mean over ranks is that over the batch.
Tensor exact_rows(std::int64_t first, std::int64_t count) {
  return formula({8, 3}, {.rule = Rule::small, .seed = 5})
      .narrow({.dim = 0, .start = first, .length = count});
}

Tensor exact_loss(const Tensor& output) {
  return div(sum(to(output, DType::float32)), double(output.size(0)));
}

Tensor weight_of(const nn::Linear& model) {
  GatheredParameters whole(const_cast<nn::Linear&>(model));
  return model.parameter("weight").detach().clone();
}

// Trains for three steps on all ranks, or on each alone.
Tensor trained_by(const OptimizerConfig& optimizer, std::int64_t stage, std::int64_t rank,
                  std::int64_t ranks) {
  Config config{.gradient_clipping = 0, .zero_allow_untested_optimizer = true};
  config.zero_optimization.stage = stage;
  config.zero_optimization.reduce_scatter = optimizer.type != "Muon";
  config.optimizer = optimizer;
  std::unique_ptr<nn::Linear> model = exact_linear();
  Engine engine =
      initialize(*model, config,
                 ranks == 1 ? ProcessGroup::of(RankList::of({std::int64_t(this_rank().id())}))
                            : ProcessGroup::world());
  std::int64_t size = 8 / ranks;
  for (int step = 0; step < 3; ++step) {
    engine.backward(exact_loss(engine(exact_rows(rank * size, size))));
    engine.step();
  }
  return weight_of(*model);
}

// Every optimiser of the section has the bits of one device in every stage, also where shards are
// padded. If this fails, an optimiser needs more of a parameter than a rank has.
SIMMESH_TEST(ConfiguredRun, EachOptimizerEqualsOneDevice, {.mesh = {4}, .schedules = 4}) {
  std::vector<OptimizerConfig> optimizers = {
      {.type = "Adam", .adam_w_mode = false, .weight_decay = 0.25, .bias_correction = false},
      {.type = "AdamW", .torch_adam = true, .amsgrad = true, .maximize = true},
      {.type = "Adagrad", .lr = 0.125, .lr_decay = 0.5, .initial_accumulator_value = 0.5},
      {.type = "Lion", .lr = 0.125, .weight_decay = 0.25},
      {.type = "SGD", .momentum = 0.5, .dampening = 0.25},
      {.type = "RMSprop", .momentum = 0.5, .centered = true},
      {.type = "Adadelta", .lr = 0.5, .weight_decay = 0.25},
      {.type = "Adamax", .lr = 0.125},
      {.type = "NAdam", .lr = 0.125, .decoupled_weight_decay = true},
      {.type = "RAdam", .lr = 0.125, .betas = {0.5, 0.999}},
      {.type = "Rprop", .lr = 0.125, .maximize = true},
      {.type = "ASGD", .lr = 0.125, .alpha = 0.5, .lambd = 0.25, .t0 = 1.0},
      {.type = "Adafactor", .lr = 0.5, .weight_decay = 0.25},
      {.type = "Lamb", .lr = 0.125, .weight_decay = 0.25},
      {.type = "Muon", .weight_decay = 0.25, .momentum = 0.5, .muon_lr = 0.5},
      {.type = "Muon", .momentum = 0.5, .ns_method = "standard", .muon_lr = 0.5}};
  for (const OptimizerConfig& optimizer : optimizers) {
    Tensor expected = trained_by(optimizer, 0, 0, 1);
    EXPECT_FALSE(same_bits(expected, exact_linear()->parameter("weight").detach()));
    for (std::int64_t stage = 0; stage <= 3; ++stage)
      EXPECT_SAME_BITS(trained_by(optimizer, stage, mesh.get_rank(), 4), expected);
  }
}

// If this fails, state that isn't like a parameter is put together as if it were cut, or is missing
// on the rank that has no piece.
SIMMESH_TEST(ConfiguredRun, StateThatIsNotLikeAParameterIsWhole, {.mesh = {4}, .schedules = 4}) {
  auto state_after = [&](const char* type, const char* name, std::int64_t stage) {
    Config config{.gradient_clipping = 0, .zero_allow_untested_optimizer = true};
    config.zero_optimization.stage = stage;
    config.optimizer = OptimizerConfig{.type = type};
    std::unique_ptr<nn::Linear> model = exact_linear();
    Engine engine = initialize(*model, config, ProcessGroup::world());
    for (int step = 0; step < 2; ++step) {
      engine.backward(exact_loss(engine(exact_rows(2 * mesh.get_rank(), 2))));
      engine.step();
    }
    return engine.safe_get_full_optimizer_state("weight", name);
  };
  for (auto [type, name, dims] :
       {std::tuple("Adafactor", "row_var", 2), std::tuple("Adafactor", "col_var", 2),
        std::tuple("NAdam", "mu_product", 0), std::tuple("Lamb", "exp_avg", 2)}) {
    Tensor expected = state_after(type, name, 0);
    EXPECT_EQ(expected.dim(), dims) << name;
    for (std::int64_t stage = 1; stage <= 3; ++stage)
      EXPECT_SAME_BITS(state_after(type, name, stage), expected);
  }
}

// If this fails, a piece of one element counts as a number, or a number as a piece.
TEST(ConfiguredRun, PiecesAreFlatAndUncutStateIsNot) {
  Tensor none = zeros({0}, DType::float32), piece = zeros({1}, DType::float32);
  Tensor number = full(DimSpan(), DType::float32, 3.0);
  EXPECT_FALSE(uncut_state(std::vector<Tensor>{none, piece}).is_defined());
  EXPECT_TRUE(same_bits(uncut_state(std::vector<Tensor>{none, number}), number));
}

// An embedding isn't orthogonalised, nor is a vector. If this fails, Muon steps what it doesn't in
// DeepSpeed, or its halves aren't groups on every rank.
TEST(ConfiguredRun, MuonTakesMatricesButThoseOfTheEnds) {
  OptimizerConfig config{.type = "Muon"};
  std::vector<nn::NamedTensor> masters;
  for (const char* name : {"a.weight", "Embed.weight", "lm_head.weight", "a.bias", "b.weight"})
    masters.emplace_back(name, zeros({2}, DType::float32));
  ShapesByName shapes = {{"a.weight", Shape{2, 3}},
                         {"Embed.weight", Shape{4, 2}},
                         {"lm_head.weight", Shape{2, 4}},
                         {"a.bias", Shape{2}},
                         {"b.weight", Shape{3, 1}}};
  auto muon = configured_optimizer(config, shapes)(masters);
  EXPECT_EQ(muon->learning_rates(), (std::vector<double>{0.02, 3e-4}));
  ASSERT_EQ(muon->parameters().size(), 5u);
  EXPECT_TRUE(nn::is_same_tensor(muon->parameters()[0], masters[4].second)) << "the largest first";
  EXPECT_TRUE(nn::is_same_tensor(muon->parameters()[1], masters[0].second));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(muon->needs_whole(i), i < 2) << i;
  auto of_a_rank_without = configured_optimizer(config, shapes)({masters[3]});
  EXPECT_EQ(of_a_rank_without->learning_rates().size(), 2u);
  EXPECT_EQ(of_a_rank_without->group_of(0), 1u);
}

// The caller's step is the boundary, after however many backward passes. If this fails, gradients
// of a pass are lost or reduced twice.
SIMMESH_TEST(ConfiguredRun, CallersOwnTheBoundaryIfTheyWant, {.mesh = {2}, .schedules = 4}) {
  auto run = [&](bool is_managed, std::int64_t stage) {
    Config config{.gradient_accumulation_steps = 2,
                  .managed_gradient_accumulation = is_managed,
                  .gradient_clipping = 0};
    config.zero_optimization.stage = stage;
    config.optimizer = OptimizerConfig{.type = "Adam"};
    std::unique_ptr<nn::Linear> model = exact_linear();
    Engine engine = initialize(*model, config, ProcessGroup::world());
    for (int micro = 0; micro < 2; ++micro)
      engine.backward(exact_loss(engine(exact_rows(4 * mesh.get_rank() + 2 * micro, 2))));
    EXPECT_EQ(engine.is_gradient_accumulation_boundary(), is_managed);
    engine.step();
    EXPECT_TRUE(engine.was_step_applied());
    Tensor two = weight_of(*model);
    engine.backward(exact_loss(engine(exact_rows(0, 2))));
    engine.step();
    EXPECT_EQ(same_bits(weight_of(*model), two), is_managed);
    return two;
  };
  for (std::int64_t stage = 0; stage <= 3; ++stage)
    EXPECT_SAME_BITS(run(false, stage), run(true, stage));
}

// If this fails, auto_cast computes with the float32 values, or refuses the mix.
SIMMESH_TEST(ConfiguredRun, AutoCastConvertsTheInput, {.mesh = {2}, .schedules = 2}) {
  Config config;
  config.fp16 = {.enabled = true, .auto_cast = true};
  config.optimizer = OptimizerConfig{};
  std::unique_ptr<nn::Linear> model = exact_linear();
  Engine engine = initialize(*model, config, ProcessGroup::world());
  Tensor input = div(exact_rows(0, 2), 3.0);
  EXPECT_SAME_BITS(engine(input), engine(to(input, DType::float16)));
  EXPECT_EQ(engine(input).dtype(), DType::float16);
}

// If this fails, check_grad_overflow is dropped without a word.
SIMMESH_TEST(ConfiguredRun, WithoutTheCheckNoBf16StepIsSkipped, {.mesh = {2}, .schedules = 2}) {
  for (std::int64_t stage = 1; stage <= 3; ++stage)
    for (bool checks : {true, false}) {
      Config config{.zero_allow_untested_optimizer = true};
      config.bf16 = {.enabled = true, .check_grad_overflow = checks};
      config.zero_optimization.stage = stage;
      config.optimizer = OptimizerConfig{.type = "SGD"};
      std::unique_ptr<nn::Linear> model = exact_linear();
      Engine engine = initialize(*model, config, ProcessGroup::world());
      Tensor input = to(exact_rows(0, 2), DType::bfloat16);
      engine.backward(mul(exact_loss(engine(input)), std::numeric_limits<double>::infinity()));
      engine.step();
      EXPECT_EQ(engine.was_step_applied(), !checks) << "stage " << stage;
    }
}

// DeepSpeed's engine of stage 0 without an optimiser runs forward, and refuses backward.
TEST(ConfiguredRun, Stage0NeedsNoOptimizer) {
  World world({.ranks = 1});
  Outcome outcome = world.run([](Rank&) {
    std::unique_ptr<nn::Linear> model = exact_linear();
    Engine engine = initialize(*model, Config(), ProcessGroup::world());
    Tensor loss = exact_loss(engine(exact_rows(0, 2)));
    expect_error([&] { engine.backward(loss); }, ErrorKind::assertion_error, "an optimizer");
    expect_error([&] { engine.optimizer(); }, ErrorKind::assertion_error, "an optimizer");
    EXPECT_EQ(engine.memory_use().moments, 0);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh::zero
