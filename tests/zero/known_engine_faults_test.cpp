#include <cmath>
#include <gmock/gmock.h>
#include <limits>

#include "core/autograd/variable.h"
#include "core/ops/elementwise/conversion.h"
#include "core/optim/sgd.h"
#include "tests/expect_error.h"
#include "tests/zero/zero_runs.h"
#include "zero/engine/estimate.h"
#include "zero/engine/stage.h"
#include "zero/fetch/pretty.h"
#include "zero/stage3/stage3.h"

// Faults of DeepSpeed's engine, whatever the stage. The names have the numbers of its issues.
namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

std::unique_ptr<optim::Optimizer> eighth_sgd(const std::vector<nn::NamedTensor>& masters) {
  std::vector<Tensor> tensors;
  for (const auto& [name, master] : masters) tensors.push_back(master);
  return std::make_unique<optim::Sgd>(tensors, optim::SgdOptions{.lr = 0.125});
}

Config in_stage(std::int64_t stage) {
  Config config{.gradient_clipping = 0.0, .zero_allow_untested_optimizer = true};
  config.zero_optimization = {.stage = stage, .param_persistence_threshold = 0};
  return config;
}

std::shared_ptr<nn::Module> zero_linear(DType dtype) {
  auto model = new_linear(2, 1, false, dtype);
  Tensor weight = model->parameter("weight").detach();
  copy_(weight, full({1, 2}, dtype, 0.0));
  return model;
}

// #8415, #5242: steps were skipped silently, and bfloat16 gradients that weren't finite reached the
// parameters in stage 3.
SIMMESH_TEST(KnownEngineFaults, SkippedStepsAreTold8415And5242, {.mesh = {2}, .schedules = 4}) {
  for (DType dtype : {DType::bfloat16, DType::float32})
    for (double bad : {double(NAN), double(INFINITY)})
      for (std::int64_t stage : {1, 2, 3}) {
        auto model = zero_linear(dtype);
        Engine engine = initialize(*model, eighth_sgd, in_stage(stage), ProcessGroup::world());
        double moved = 0;
        for (bool is_good : {true, false, true}) {
          double value = is_good || mesh.get_rank() == 0 ? 1.0 : bad;
          engine.backward(sum(to(engine(full({1, 2}, dtype, value)), DType::float32)));
          engine.step();
          EXPECT_EQ(engine.was_step_applied(), is_good) << stage;
          EXPECT_EQ(std::isfinite(*engine.get_global_grad_norm()), is_good);
          moved -= is_good ? 0.125 : 0.0;
          EXPECT_SAME_BITS(engine.safe_get_full_fp32_param("weight"),
                           full({1, 2}, DType::float32, moved));
        }
      }
}

// Stage 0 with fp16 divided gradients by a scale by which it hadn't multiplied the loss.
SIMMESH_TEST(KnownEngineFaults, StageZeroScalesTheLossToo, {.mesh = {2}, .schedules = 4}) {
  for (std::int64_t stage : {0, 1, 2, 3}) {
    auto model = zero_linear(DType::float16);
    Config config = in_stage(stage);
    config.fp16 = {.enabled = true, .loss_scale = 1024};
    Engine engine = initialize(*model, eighth_sgd, config, ProcessGroup::world());
    engine.backward(sum(to(engine(full({1, 2}, DType::float16, 1.0)), DType::float32)));
    engine.step();
    EXPECT_SAME_BITS(engine.safe_get_full_fp32_param("weight"),
                     full({1, 2}, DType::float32, -0.125));
  }
}

// #5248, #6841: the ways to reduce disagreed about the divisor of a gradient.
SIMMESH_TEST(KnownEngineFaults, AllReductionsGiveTheMean5248And6841,
             {.mesh = {4}, .schedules = 4}) {
  struct Way {
    std::int64_t stage, bucket;
    bool reduce_scatter;
    double predivide;
  };
  for (const Way& way : {Way{0, 100, true, 1}, Way{1, 100, true, 1}, Way{1, 1, true, 1},
                         Way{1, 100, false, 2}, Way{2, 100, false, 4}, Way{2, 1, false, 0.5},
                         Way{3, 100, true, 1}, Way{3, 100, false, 1}, Way{3, 1, false, 1}}) {
    auto model = zero_linear(DType::float32);
    Config config = in_stage(way.stage);
    config.zero_optimization.reduce_bucket_size = way.bucket;
    config.zero_optimization.reduce_scatter = way.reduce_scatter;
    config.gradient_predivide_factor = way.predivide;
    Engine engine = initialize(*model, eighth_sgd, config, ProcessGroup::world());
    engine.backward(sum(engine(full({1, 2}, DType::float32, double(mesh.get_rank())))));
    EXPECT_SAME_BITS(engine.safe_get_full_grad("weight"), full({1, 2}, DType::float32, 1.5));
  }
}

// #7585: the hyper-parameters of the first group became those of all.
SIMMESH_TEST(KnownEngineFaults, GroupsKeepTheirHyperParameters7585, {.mesh = {2}, .schedules = 4}) {
  MakeOptimizer two_groups = [](const std::vector<nn::NamedTensor>& masters) {
    std::vector<optim::Sgd::Group> groups = {{{}, {.lr = 0.125}},
                                             {{}, {.lr = 0.5, .weight_decay = 0.25}}};
    for (const auto& [name, master] : masters)
      groups[name == "bias" ? 1 : 0].parameters.push_back(master);
    return std::make_unique<optim::Sgd>(groups);
  };
  for (std::int64_t stage : {0, 1, 2, 3}) {
    auto model = new_linear(2, 1);
    for (const Tensor& parameter : model->parameters()) {
      Tensor values = parameter.detach();
      copy_(values, full(values.shape(), DType::float32, 1.0));
    }
    Engine engine = initialize(*model, two_groups, in_stage(stage), ProcessGroup::world());
    EXPECT_EQ(engine.get_lr(), (std::vector<double>{0.125, 0.5}));
    engine.backward(sum(engine(full({1, 2}, DType::float32, 1.0))));
    engine.step();
    EXPECT_SAME_BITS(engine.safe_get_full_fp32_param("weight"),
                     full({1, 2}, DType::float32, 0.875));
    EXPECT_SAME_BITS(engine.safe_get_full_fp32_param("bias"), full({1}, DType::float32, 0.375));
  }
}

// A module whose names are those that DeepSpeed writes on modules and parameters.
struct OwnNames final : nn::Module {
  OwnNames() {
    register_parameter("ds_id", full({3}, DType::float32, 1.0));
    register_child("id", new_linear(3, 3));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    return {child("id")(add(in[0], parameter("ds_id")))};
  }
};

std::vector<ModuleId> modules_entered(Engine& engine, const Tensor& input) {
  std::vector<ModuleId> entered;
  ObserverScope scope([&](const Event& event) {
    if (event.kind == EventKind::enter) entered.push_back(event.module);
  });
  engine(input);
  return entered;
}

// #6772, #6847: the engine overwrote the client's `id` of a module. Its own numbers belong to the
// engine: those of another one begin anew.
SIMMESH_TEST(KnownEngineFaults, ModulesKeepWhatIsTheirs6772And6847,
             {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  auto make = [] { return std::make_shared<OwnNames>(); };
  expect_same_run(run_zero(make, small_stage3()), run_zero(make, stage0()));
  auto first = make(), second = make();
  nn::Module* child = &first->child("id");
  Engine one = initialize(*first, make_adamw, small_stage3(), ProcessGroup::world());
  Engine other = initialize(*second, make_adamw, small_stage3(), ProcessGroup::world());
  Tensor input = full({1, 3}, DType::float32, 1.0);
  for (Engine* engine : {&one, &other, &one})
    EXPECT_THAT(modules_entered(*engine, input), ::testing::ElementsAre(0, 1));
  EXPECT_EQ(&first->child("id"), child);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : first->named_parameters()) names.push_back(name);
  EXPECT_THAT(names, ::testing::ElementsAre("ds_id", "id.weight", "id.bias"));
}

// The scaler was updated once for each tile of the optimiser, so that it grew too early.
SIMMESH_TEST(KnownEngineFaults, TheScalerCountsStepsAndNotTiles, {.mesh = {2}, .schedules = 4}) {
  std::vector<nn::NamedModule> layers;
  for (const char* name : {"a", "b", "c"})
    layers.emplace_back(name, new_linear(2, 2, false, DType::float16));
  nn::Sequential model(layers);
  set_by_formula(model);
  Config config = in_stage(3);
  config.zero_optimization.sub_group_size = 1;
  config.fp16 = {.enabled = true, .initial_scale_power = 4, .loss_scale_window = 4};
  Engine engine = initialize(model, eighth_sgd, config, ProcessGroup::world());
  std::vector<double> scales;
  for (int step = 0; step < 6; ++step) {
    engine.backward(sum(to(engine(full({1, 2}, DType::float16, 0.0)), DType::float32)));
    engine.step();
    scales.push_back(engine.loss_scale());
  }
  EXPECT_THAT(scales, ::testing::ElementsAre(16, 16, 16, 16, 32, 32));
}

// #8060: MiCS hung in the first backward. DeepSpeed 0.19.8 has its keys no more, and an engine that
// took them would train something else.
TEST(KnownEngineFaults, MicsIsRefused8060) {
  for (const char* key : {"mics_shard_size", "mics_hierarchical_params_gather"})
    expect_error(
        [&] {
          Config::from_json(fmt::format(
              R"({{"train_batch_size": 1, "zero_optimization": {{"stage": 3, "{}": 1}}}})", key));
        },
        ErrorKind::value_error, fmt::format("zero_optimization.{}", key));
}

// #7507: a number that is written prettily could not be printed when something had gone wrong.
TEST(KnownEngineFaults, NumbersCanAlwaysBePrinted7507) {
  for (std::int64_t count : {std::numeric_limits<std::int64_t>::min(), std::int64_t(-1),
                             std::int64_t(0), std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_FALSE(pretty_count(count).empty());
    EXPECT_FALSE(pretty_bytes(count).empty());
  }
  EXPECT_EQ(pretty_count(5'000'000), "5,000,000");
}

// #1536: the estimators counted parameters by data pointers, which are null for all that are
// partitioned already.
SIMMESH_TEST(KnownEngineFaults, EstimatesCountPartitionedParameters1536,
             {.mesh = {2}, .schedules = 2}) {
  nn::ModulePtr model = three_linears();
  EstimateOptions before = count_parameters(*model);
  EXPECT_EQ(before.total_params, 3 * 5 + 5 + 5 * 5 + 5 + 5 * 2);
  Engine engine = initialize(*model, make_adamw, small_stage3(), ProcessGroup::world());
  EstimateOptions after = count_parameters(*model);
  EXPECT_EQ(after.total_params, before.total_params);
  EXPECT_EQ(after.largest_layer_params, before.largest_layer_params);
}

}  // namespace
}  // namespace simmesh::zero
