#include "zero/config/lr_scheduler.h"

#include <cmath>

#include "core/autograd/variable.h"
#include "core/ops/elementwise/conversion.h"
#include "core/optim/radam.h"
#include "core/optim/rprop.h"
#include "core/optim/sgd.h"
#include "tests/expect_error.h"
#include "tests/zero/zero_runs.h"

namespace simmesh::zero {
namespace {

using Rates = std::vector<double>;

std::unique_ptr<optim::Adam> two_groups() {
  Tensor a = zeros({1}, DType::float32), b = zeros({1}, DType::float32);
  return std::make_unique<optim::Adam>(
      std::vector<optim::Adam::Group>{{{a}, {.lr = 0.5}}, {{b}, {.lr = 0.25}}});
}

TEST(LrScheduler, SetsRatesAndBetas) {
  auto adam = two_groups();
  LrScheduler scheduler(
      OneCycle{.cycle_min_lr = 0.0, .cycle_max_lr = 1.0, .cycle_first_step_size = 4}, *adam);
  EXPECT_EQ(adam->learning_rates(), (Rates{0.0, 0.0}));
  EXPECT_EQ(adam->betas()[1], (std::array<double, 2>{0.8, 0.99}));
  scheduler.step();
  EXPECT_EQ(adam->learning_rates(), (Rates{0.25, 0.25}));
  EXPECT_EQ(scheduler.get_last_lr(), (Rates{0.25, 0.25}));
  EXPECT_EQ(scheduler.last_batch_iteration(), 0);
}

// If this fails, a run that continues has other rates than one that wasn't interrupted.
TEST(LrScheduler, GoesOnWhereItWas) {
  WarmupCosineLR config{.total_num_steps = 9, .warmup_num_steps = 3};
  auto whole = two_groups(), interrupted = two_groups(), resumed = two_groups();
  LrScheduler expected(config, *whole), before(config, *interrupted);
  for (int i = 0; i < 5; ++i) {
    expected.step();
    before.step();
  }
  LrScheduler after(config, *resumed);
  after.load_state(before.last_batch_iteration());
  for (int i = 0; i < 5; ++i) {
    expected.step();
    after.step();
    EXPECT_EQ(resumed->learning_rates(), whole->learning_rates());
  }
  config.last_batch_iteration = 4;
  auto untouched = two_groups();
  LrScheduler configured(config, *untouched);
  EXPECT_EQ(untouched->learning_rates(), (Rates{0.5, 0.25})) << "until the first step";
}

// Without betas only the rates change, as in DeepSpeed.
TEST(LrScheduler, LeavesOptimisersWithoutBetasAlone) {
  optim::Sgd sgd({zeros({1}, DType::float32)}, {.lr = 1.0});
  LrScheduler scheduler(OneCycle{.cycle_min_lr = 0.5, .cycle_max_lr = 1.0}, sgd);
  EXPECT_EQ(sgd.learning_rates(), Rates{0.5});
}

// If this fails, a cycle changes the betas of Adam alone. With beta1 = 0.8 and beta2 = 0.99 the
// first moments are a fifth and a hundredth of the gradient and its square.
TEST(LrScheduler, SetsBetasOfOtherOptimisers) {
  Tensor p = zeros({1}, DType::float32);
  set_requires_grad(p);
  set_grad(p, full({1}, DType::float32, 1.0));
  optim::RAdam radam({p}, {.lr = 0.5});
  LrScheduler scheduler(OneCycle{.cycle_min_lr = 0.5, .cycle_max_lr = 1.0}, radam);
  radam.step();
  EXPECT_EQ(radam.state(0).at("exp_avg").values<float>()[0], float(1.0 - 0.8));
  EXPECT_EQ(radam.state(0).at("exp_avg_sq").values<float>()[0], float(1.0 - 0.99));
}

// If this fails, a cycle of PyTorch changes no momentum, or is made for an optimiser without one.
TEST(LrScheduler, CyclesMomentaOfPyTorch) {
  auto adam = two_groups();
  CyclicLR config{.base_lr = 0.0, .max_lr = 1.0, .step_size_up = 4};
  LrScheduler scheduler(config, *adam);
  EXPECT_EQ(adam->betas()[1], (std::array<double, 2>{0.9, 0.999}));
  for (int i = 0; i < 4; ++i) scheduler.step();
  EXPECT_EQ(adam->learning_rates(), (Rates{1.0, 1.0}));
  EXPECT_EQ(adam->betas()[1][0], 0.8);
  optim::Rprop rprop({zeros({1}, DType::float32)});
  testing::expect_error([&] { LrScheduler refused(config, rprop); }, ErrorKind::value_error,
                        "optimizer must support momentum or beta1");
  config.cycle_momentum = false;
  EXPECT_NO_THROW(LrScheduler(config, rprop));
}

WarmupLR short_warmup() {
  return {.warmup_min_lr = 0.125,
          .warmup_max_lr = 1.0,
          .warmup_num_steps = 4,
          .warmup_type = WarmupType::linear};
}

// If this fails, a scheduler steps at another time than after the optimiser, or in micro-batches.
SIMMESH_TEST(LrScheduler, StepsAfterEachStepOfTheEngine, {.mesh = {2}, .schedules = 4}) {
  for (std::int64_t stage = 0; stage <= 3; ++stage) {
    Config config{.gradient_accumulation_steps = 2, .gradient_clipping = 0.0};
    config.zero_optimization = {.stage = stage, .param_persistence_threshold = 0};
    config.optimizer = OptimizerConfig{.type = "SGD", .lr = 77.0};
    config.zero_allow_untested_optimizer = true;
    config.scheduler = short_warmup();
    auto model = new_linear(2, 1, false);
    Tensor weight = model->parameter("weight").detach();
    copy_(weight, full({1, 2}, DType::float32, 0.0));
    Engine engine = initialize(*model, config, ProcessGroup::world());
    double moved = 0;
    for (double rate : {0.125, 0.125, 0.34375, 0.5625, 0.78125, 1.0, 1.0}) {
      EXPECT_EQ(engine.get_lr(), Rates{rate});
      for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
        engine.backward(sum(engine(full({1, 2}, DType::float32, 1.0))));
        engine.step();
      }
      moved -= rate;
      EXPECT_SAME_BITS(engine.safe_get_full_fp32_param("weight"),
                       full({1, 2}, DType::float32, moved));
    }
    EXPECT_EQ(engine.lr_scheduler()->last_batch_iteration(), 6);
  }
}

// If this fails, warm-up continues in steps that were skipped.
SIMMESH_TEST(LrScheduler, WaitsInSkippedSteps, {.mesh = {2}, .schedules = 4}) {
  for (std::int64_t stage = 0; stage <= 3; ++stage) {
    Config config{.gradient_clipping = 0.0,
                  .zero_allow_untested_optimizer = true,
                  .fp16 = {.enabled = true, .initial_scale_power = 4}};
    config.zero_optimization = {.stage = stage, .param_persistence_threshold = 0};
    config.optimizer = OptimizerConfig{.type = "SGD"};
    config.scheduler = short_warmup();
    auto model = new_linear(2, 1, false, DType::float16);
    Engine engine = initialize(*model, config, ProcessGroup::world());
    for (bool is_good : {true, true, false, true}) {
      double value = is_good || mesh.get_rank() == 0 ? 1.0 : INFINITY;
      engine.backward(sum(to(engine(full({1, 2}, DType::float16, value)), DType::float32)));
      engine.step();
      EXPECT_EQ(engine.was_step_applied(), is_good);
    }
    EXPECT_EQ(engine.get_lr(), Rates{0.5625});
    EXPECT_EQ(engine.lr_scheduler()->last_batch_iteration(), 2);
  }
}

SIMMESH_TEST(LrScheduler, IsThereOnlyWithASection, {.mesh = {1}, .schedules = 1}) {
  Config config{.gradient_clipping = 0.0};
  config.optimizer = OptimizerConfig{.lr = 0.5};
  auto model = new_linear(2, 1);
  Engine engine = initialize(*model, config, ProcessGroup::world());
  EXPECT_EQ(engine.lr_scheduler(), nullptr);
  EXPECT_EQ(engine.get_lr(), Rates{0.5});
}

}  // namespace
}  // namespace simmesh::zero
