#include <gtest/gtest.h>

#include "collectives/collective_call.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/shapes/factories.h"
#include "tests/expect_error.h"
#include "tests/zero/zero_runs.h"

// Stages 1 and 2 against stage 0 and against their costs.
namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

Config stage_config(std::int64_t stage, std::int64_t bucket = 1000) {
  Config config{.gradient_clipping = 0, .sum_gradients = true};
  config.zero_optimization = {.stage = stage, .reduce_bucket_size = bucket};
  return config;
}

std::uint32_t calls_of(CollectiveOp op) { return this_rank().counters()[std::size_t(op)]; }

// Bug: gradients of a module that runs twice, or of one that several recomputed parts use, were
// reduced once and then lost. three_linears runs a layer twice, which here is recomputed too.
SIMMESH_TEST(FlatStage, ReducesModulesThatRunTwice,
             {.mesh = {3}, .schedules = 6, .arithmetic = Arithmetic::exact()}) {
  for (bool reentrant : {false, true})
    for (std::int64_t stage : {1, 2}) {
      auto make = [reentrant] {
        nn::ModulePtr model = three_linears();
        model->child("twice").set_checkpointing(CheckpointOptions{.reentrant = reentrant});
        return model;
      };
      expect_same_run(run_zero(make, stage_config(stage)),
                      run_zero(three_linears, stage_config(0)));
    }
}

// Bug: a gradient as large as the bucket, or larger, was never reduced.
SIMMESH_TEST(FlatStage, ReducesGradientsOfAnySize,
             {.mesh = {2}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  ZeroRun expected = run_zero(three_linears, stage_config(0));
  for (std::int64_t bucket : {1, 5, 10, 15, 25})
    for (bool reduce_scatter : {false, true})
      for (bool to_owners : {false, true}) {
        Config config = stage_config(2, bucket);
        config.zero_optimization.reduce_scatter = reduce_scatter;
        config.zero_optimization.use_multi_rank_bucket_allreduce = !to_owners;
        expect_same_run(run_zero(three_linears, config), expected);
      }
}

// Bug: with accumulation, losses differed between stages 0 to 3.
SIMMESH_TEST(FlatStage, AccumulatesAsStageZero,
             {.mesh = {2}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  for (std::int64_t stage : {1, 2}) {
    Config config = stage_config(stage), expected = stage_config(0);
    config.gradient_accumulation_steps = expected.gradient_accumulation_steps = 3;
    config.gradient_clipping = expected.gradient_clipping = 0.5;
    expect_same_run(run_zero(three_linears, config), run_zero(three_linears, expected));
  }
}

// A layer that only the first micro-batch uses: its gradient comes before the boundary only.
SIMMESH_TEST(FlatStage, KeepsGradientsOfEarlierMicroBatches,
             {.mesh = {2}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  std::vector<Tensor> results;
  for (std::int64_t stage : {0, 1, 2}) {
    auto first = std::dynamic_pointer_cast<nn::Linear>(new_linear(3, 3));
    std::vector<nn::NamedModule> children = {{"first", first}, {"second", new_linear(3, 3)}};
    nn::Sequential model(children, std::vector<std::string>{"first", "second"});
    set_by_formula(model);
    Config config = stage_config(stage);
    config.gradient_accumulation_steps = 2;
    Engine engine = initialize(model, make_adamw, config, ProcessGroup::world());
    Tensor input = rank_input(mesh.get_rank(), 0, {2, 3});
    engine.backward(sum(engine(input)));
    engine.step();
    engine.backward(sum(model.child("second")(input)));
    engine.step();
    results.push_back(first->parameter("weight").detach().clone());
  }
  EXPECT_SAME_BITS(results[1], results[0]);
  EXPECT_SAME_BITS(results[2], results[0]);
}

// Counts the collectives of a step: three_linears has 80 elements in five parameters.
SIMMESH_TEST(FlatStage, CountsCollectives, {.mesh = {2}, .schedules = 2}) {
  struct Cost {
    std::int64_t stage, bucket, accumulation;
    std::uint32_t all_reduces;
  };
  // One all-reduce a bucket and reduction, one for the overflow and one for the norm.
  for (const Cost& cost : {Cost{1, 1000, 1, 3}, Cost{2, 1000, 1, 3}, Cost{1, 1000, 2, 3},
                           Cost{2, 1000, 2, 4}, Cost{2, 30, 1, 5}}) {
    Config config = stage_config(cost.stage, cost.bucket);
    config.gradient_accumulation_steps = cost.accumulation;
    nn::ModulePtr model = three_linears();
    set_by_formula(*model);
    Engine engine = initialize(*model, make_adamw, config, ProcessGroup::world());
    std::uint32_t reduced = calls_of(CollectiveOp::all_reduce);
    std::uint32_t gathered = calls_of(CollectiveOp::all_gather);
    for (std::int64_t micro = 0; micro < cost.accumulation; ++micro) {
      engine.backward(sum(engine(rank_input(mesh.get_rank(), micro, {2, 3}))));
      engine.step();
    }
    EXPECT_EQ(calls_of(CollectiveOp::all_reduce) - reduced, cost.all_reduces) << cost.bucket;
    EXPECT_EQ(calls_of(CollectiveOp::all_gather) - gathered, 1u);
  }
}

// A gradient that isn't finite on one rank skips the step on all, in every dtype.
SIMMESH_TEST(FlatStage, SkipsAStepThatIsNotFinite, {.mesh = {2}, .schedules = 4}) {
  for (DType dtype : {DType::float32, DType::bfloat16})
    for (std::int64_t stage : {1, 2}) {
      auto model = std::dynamic_pointer_cast<nn::Linear>(new_linear(2, 2, false, dtype));
      set_by_formula(*model);
      Tensor before = model->parameter("weight").detach().clone();
      Engine engine = initialize(*model, make_adamw, stage_config(stage), ProcessGroup::world());
      Tensor input = ones({1, 2}, DType::float32);
      if (mesh.get_rank() == 1) input.mutable_values<float>()[0] = NAN;
      engine.backward(sum(engine(to(input, dtype))));
      engine.step();
      EXPECT_FALSE(engine.was_step_applied());
      EXPECT_EQ(engine.get_global_grad_norm(), INFINITY);
      EXPECT_SAME_BITS(model->parameter("weight").detach(), before);
    }
}

// A member holds its slice only: a quarter of masters and moments, and in stage 2 of gradients.
SIMMESH_TEST(FlatStage, HoldsItsPart, {.mesh = {4}, .schedules = 2}) {
  for (std::int64_t stage : {1, 2}) {
    nn::ModulePtr model = new_linear(8, 8, false);
    set_by_formula(*model);
    Config config = stage_config(stage);
    config.gradient_accumulation_steps = 2;
    Engine engine = initialize(*model, make_adamw, config, ProcessGroup::world());
    for (std::int64_t micro = 0; micro < 2; ++micro) {
      engine.backward(sum(engine(rank_input(mesh.get_rank(), micro, {1, 8}))));
      EXPECT_EQ(engine.memory_use().gradients, stage == 1 && micro == 0 ? 64 * 4 : 16 * 4);
      engine.step();
    }
    MemoryUse use = engine.memory_use();
    EXPECT_EQ(use.master, 16 * 4);
    EXPECT_EQ(use.moments, 2 * 16 * 4);
    EXPECT_EQ(use.gradients, 0);
    EXPECT_EQ(use.live, 64 * 4);
  }
}

// Masters, moments and reduced gradients of an offloaded optimiser aren't on the device.
SIMMESH_TEST(FlatStage, OffloadedStateIsNotCharged, {.mesh = {2}, .schedules = 2}) {
  std::int64_t charged[2];
  for (bool offloads : {false, true}) {
    nn::ModulePtr model = new_linear(16, 16, false);
    Config config = stage_config(2);
    if (offloads)
      config.zero_optimization.offload_optimizer = OffloadOptimizer{.device = OffloadDevice::cpu};
    Ledger& ledger = *Ledger::active();
    std::int64_t before = ledger.of(MemoryCategory::optimizer_state).current;
    Engine engine = initialize(*model, make_adamw, config, ProcessGroup::world());
    engine.backward(sum(engine(rank_input(mesh.get_rank(), 0, {1, 16}))));
    engine.step();
    charged[offloads] = ledger.of(MemoryCategory::optimizer_state).current - before;
  }
  EXPECT_EQ(charged[0], 3 * 128 * 4);
  EXPECT_EQ(charged[1], 0);
}

SIMMESH_TEST(FlatStage, RefusesGroupsOfSeveralDtypes, {.mesh = {2}, .schedules = 1}) {
  std::vector<nn::NamedModule> children = {{"a", new_linear(2, 2)},
                                           {"b", new_linear(2, 2, true, DType::bfloat16)}};
  nn::Sequential model(children, std::vector<std::string>{"a", "b"});
  expect_error([&] { initialize(model, make_adamw, stage_config(1), ProcessGroup::world()); },
               ErrorKind::value_error, "one dtype");
}

}  // namespace
}  // namespace simmesh::zero
