#include "zero/stage3/stage3.h"

#include <gmock/gmock.h>
#include <limits>

#include "core/nn/activation.h"
#include "core/nn/embedding.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/matrices/products.h"
#include "core/tensor/convert.h"
#include "tests/expect_error.h"
#include "tests/zero/zero_runs.h"
#include "zero/stage3/external_parameters.h"
#include "zero/stage3/leaf_modules.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

void expect_equals_stage0(const ModelMaker& make, const Config& config) {
  Config whole = stage0();
  whole.gradient_accumulation_steps = config.gradient_accumulation_steps;
  expect_same_run(run_zero(make, config), run_zero(make, whole));
}

// If this fails, some way to gather or reduce changes a bit of training.
SIMMESH_TEST(Stage3, EqualsStage0InEverySetting,
             {.mesh = {4}, .schedules = 4, .arithmetic = exact}) {
  Config base = small_stage3();
  std::vector<Config> configs(10, base);
  configs[1].zero_optimization.allgather_sequential = true;
  configs[2].zero_optimization.use_all_reduce_for_fetch_params = true;
  configs[3].zero_optimization.zero_hpz_partition_size = 2;
  configs[4].zero_optimization.param_persistence_threshold = 10;
  configs[5].zero_optimization.reduce_scatter = false;
  configs[6].zero_optimization.reduce_bucket_size = 25;
  configs[7].gradient_accumulation_steps = 3;
  configs[8].zero_optimization.prefetch_bucket_size = 0;
  configs[9].zero_optimization.zero_hpz_partition_size = 3;
  for (const Config& config : configs) expect_equals_stage0(three_linears, config);
}

nn::ModulePtr checkpointed(const CheckpointOptions& options, bool is_frozen) {
  std::vector<nn::NamedModule> inner;
  inner.emplace_back("up", new_linear(5, 7));
  inner.emplace_back("act", std::make_shared<nn::Activation>(nn::ActivationKind::relu));
  inner.emplace_back("down", new_linear(7, 5));
  auto block = std::make_shared<nn::Sequential>(inner);
  block->set_checkpointing(options);
  if (is_frozen) block->find("up").set_requires_grad(false);
  std::vector<nn::NamedModule> children;
  children.emplace_back("first", new_linear(3, 5));
  children.emplace_back("block", block);
  children.emplace_back("last", new_linear(5, 2));
  return std::make_shared<nn::Sequential>(children);
}

// If this fails, a recomputation finds parameters gone, or loses gradients.
SIMMESH_TEST(Stage3, TrainsWithActivationCheckpointing,
             {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  for (CheckpointOptions options :
       {CheckpointOptions{.reentrant = true}, CheckpointOptions{.reentrant = false},
        CheckpointOptions{.reentrant = false, .early_stop = false}})
    for (bool is_frozen : {false, true})
      expect_equals_stage0([=] { return checkpointed(options, is_frozen); }, small_stage3());
}

nn::ModulePtr partly_frozen() {
  nn::ModulePtr model = three_linears();
  model->find("first").set_requires_grad(false);
  return model;
}

SIMMESH_TEST(Stage3, TrainsBesideFrozenParameters,
             {.mesh = {3}, .schedules = 4, .arithmetic = exact}) {
  expect_equals_stage0(partly_frozen, small_stage3());
}

// A weight that the root uses though a layer owns it.
struct Tied final : nn::Module {
  Tied() {
    register_child("first", new_linear(3, 5, false));
    register_child("second", new_linear(5, 5));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    Tensor x = child("second")(child("first")(in[0]));
    return {matmul(x, child("first").parameter("weight"))};
  }
};

// If this fails, a module that touches a parameter of another finds it gone.
SIMMESH_TEST(Stage3, GathersExternalParametersOnAccess,
             {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  expect_equals_stage0([] { return std::make_shared<Tied>(); }, small_stage3());
}

// If this fails, a registered parameter isn't gathered with its module, or an unregistered one is.
SIMMESH_TEST(Stage3, GathersRegisteredParametersWithTheModule, {.mesh = {2}, .schedules = 4}) {
  Tied model;
  set_by_formula(model);
  Engine engine = initialize(model, make_adamw, small_stage3(), ProcessGroup::world());
  nn::Module& second = model.child("second");
  Tensor weight = model.child("first").slots()[0].tensor;
  register_external_parameter(second, weight);
  EXPECT_FALSE(weight.storage()->is_freed());
  empty_partition_cache(model);
  EXPECT_TRUE(weight.storage()->is_freed());
  bool is_there = false;
  second.add_hook([&](nn::Module&, const nn::Tensors&, nn::Tensors outputs) {
    is_there = !weight.storage()->is_freed();
    return outputs;
  });
  second(full({2, 5}, DType::float32, 1.0));
  EXPECT_FALSE(is_there) << "it was released with the module";
  unregister_external_parameter(second, weight);
  expect_error([&] { unregister_external_parameter(second, weight); }, ErrorKind::runtime_error,
               "expected an external parameter of module 2, got parameter 0");
  expect_error([&] { register_external_parameter(second, full({2}, DType::float32, 1.0)); },
               ErrorKind::runtime_error, "expected a parameter of the engine's model");
  Tied other;
  expect_error([&] { register_external_parameter(other, weight); }, ErrorKind::runtime_error,
               "expected a module that an engine of stage 3 fetches");
}

// A module that returns a parameter, which its caller uses.
struct Returning final : nn::Module {
  Returning() {
    register_parameter("extra", formula({5}, {.rule = Rule::unit, .seed = 3}));
    register_child("linear", new_linear(3, 5));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    return {child("linear")(in[0]), parameter("extra")};
  }
};

struct Adding final : nn::Module {
  Adding() { register_child("inner", std::make_shared<Returning>()); }
  nn::Tensors forward(const nn::Tensors& in) override {
    nn::Tensors parts = child("inner").call(in);
    return {add(parts[0], parts[1])};
  }
};

SIMMESH_TEST(Stage3, KeepsReturnedParameters, {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  expect_equals_stage0([] { return std::make_shared<Adding>(); }, small_stage3());
}

// Experts of which each rank chooses another one.
struct Experts final : nn::Module {
  Experts() {
    for (int i = 0; i < 3; ++i) register_child("e" + std::to_string(i), new_linear(5, 5));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    return {child("e" + std::to_string(ProcessGroup::world().rank() % 3))(in[0])};
  }
};

nn::ModulePtr with_experts() {
  std::vector<nn::NamedModule> children;
  children.emplace_back("first", new_linear(3, 5));
  children.emplace_back("moe", std::make_shared<Experts>());
  children.emplace_back("last", new_linear(5, 2));
  return std::make_shared<nn::Sequential>(children);
}

// If this fails, ranks whose routes differ within a leaf module don't stay together.
SIMMESH_TEST(Stage3, RanksMayDifferWithinALeafModule,
             {.mesh = {3}, .schedules = 4, .arithmetic = exact}) {
  Config config = small_stage3();
  config.zero_optimization.leaf_module.classes = {"Experts"};
  expect_equals_stage0(with_experts, config);
  config.zero_optimization.leaf_module = {.names = {"moe"}};
  config.zero_optimization.module_granularity_threshold = 0;
  expect_equals_stage0(with_experts, config);
}

// If this fails, values that a scope sets don't reach the shards, the masters or other ranks.
SIMMESH_TEST(Stage3, GatheredParametersTakeTheModifiersValues, {.mesh = {3}, .schedules = 4}) {
  for (DType dtype : {DType::float32, DType::bfloat16}) {
    auto model = new_linear(3, 5, true, dtype);
    set_by_formula(*model);
    Engine engine = initialize(*model, make_adamw, small_stage3(), ProcessGroup::world());
    Tensor wanted = formula({5, 3}, {.rule = Rule::small, .seed = 9, .dtype = dtype});
    {
      GatheredParameters whole(*model, {"weight"}, 1);
      Tensor weight = model->parameter("weight").detach();
      if (mesh.get_rank() == 1) copy_(weight, wanted);
      expect_error([&] { GatheredParameters again(*model); }, ErrorKind::runtime_error,
                   "expected a parameter that no other scope holds, got weight");
    }
    GatheredParameters whole(*model);
    EXPECT_SAME_BITS(model->parameter("weight").detach(), wanted);
    EXPECT_SAME_BITS(engine.safe_get_full_fp32_param("weight"), converted(wanted, DType::float32));
  }
}

// If this fails, a step whose gradients aren't finite changes parameters: in any dtype.
SIMMESH_TEST(Stage3, SkipsAStepWhoseGradientsAreNotFinite, {.mesh = {2}, .schedules = 4}) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    auto model = new_linear(3, 5, true, dtype);
    set_by_formula(*model);
    Config config = small_stage3();
    config.fp16 = {.enabled = dtype == DType::float16, .loss_scale = 4};
    Engine engine = initialize(*model, make_adamw, config, ProcessGroup::world());
    Tensor before = engine.safe_get_full_fp32_param("weight");
    double infinity = std::numeric_limits<double>::infinity();
    engine.backward(sum(mul(to(engine(full({2, 3}, dtype, 1.0)), DType::float32),
                            mesh.get_rank() == 1 ? infinity : 1.0)));
    engine.step();
    EXPECT_FALSE(engine.was_step_applied());
    EXPECT_EQ(engine.get_global_grad_norm(), infinity);
    EXPECT_SAME_BITS(engine.safe_get_full_fp32_param("weight"), before);
  }
}

// The engine for inference never steps, and prefetches as many as it is told to.
SIMMESH_TEST(Stage3, InfersWithoutAnOptimizer, {.mesh = {2}, .schedules = 4}) {
  nn::ModulePtr model = three_linears(), whole = three_linears();
  set_by_formula(*model);
  set_by_formula(*whole);
  Config config = small_stage3();
  Engine engine = initialize(*model, MakeOptimizer(), config, ProcessGroup::world());
  engine.eval();
  NoGrad mode;
  for (int i = 0; i < 3; ++i) {
    Tensor input = rank_input(mesh.get_rank(), i, {2, 3});
    EXPECT_SAME_BITS(engine(input), (*whole)(input));
  }
}

}  // namespace
}  // namespace simmesh::zero
