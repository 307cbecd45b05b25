#include "zero/engine/engine_setup.h"

#include <gtest/gtest.h>

#include "core/nn/batch_norm.h"
#include "core/ops/elementwise/conversion.h"
#include "core/optim/adam.h"
#include "core/optim/sgd.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"
#include "tests/zero/zero_runs.h"
#include "zero/engine/configured_optimizer.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

Config of_stage(std::int64_t stage) {
  Config config;
  config.zero_optimization.stage = stage;
  return config;
}

TEST(EngineSetup, CompletesTheNumberOfAccumulationSteps) {
  EXPECT_EQ(completed_config(of_stage(0), 4, true).gradient_accumulation_steps, 1);
  Config config = of_stage(0);
  config.train_batch_size = 24;
  config.train_micro_batch_size_per_gpu = 2;
  EXPECT_EQ(completed_config(config, 4, true).gradient_accumulation_steps, 3);
  config = of_stage(0);
  config.gradient_accumulation_steps = 0;
  expect_error([&] { completed_config(config, 4, true); }, ErrorKind::value_error, "got 0");
}

// If this fails, an engine runs with keys that DeepSpeed refuses in that stage.
TEST(EngineSetup, RefusesKeysThatDontGoWithTheStage) {
  expect_error([] { completed_config(of_stage(1), 2, false); }, ErrorKind::assertion_error,
               "zero stage 1 requires an optimizer");
  EXPECT_NO_THROW(completed_config(of_stage(3), 2, false));
  auto refused = [](std::int64_t stage, auto change, const char* key) {
    Config config = of_stage(stage);
    change(config);
    expect_error([&] { completed_config(config, 2, true); }, ErrorKind::assertion_error, key);
  };
  refused(
      2, [](Config& config) { config.gradient_predivide_factor = 2; }, "gradient_predivide_factor");
  refused(
      3, [](Config& config) { config.prescale_gradients = true; }, "prescale_gradients");
  refused(
      2, [](Config& config) { config.zero_optimization.legacy_stage1 = true; }, "legacy_stage1");
  refused(
      1, [](Config& config) { config.zero_optimization.allgather_bucket_size = 3; },
      "an even number");
  refused(
      2,
      [](Config& config) {
        config.zero_optimization.offload_param = OffloadParam{.device = OffloadDevice::cpu};
      },
      "stage 3, got the device of another");
  refused(
      3,
      [](Config& config) {
        config.zero_optimization.offload_optimizer =
            OffloadOptimizer{.device = OffloadDevice::nvme};
      },
      "offload_optimizer.nvme_path");
}

TEST(EngineSetup, ConvertsTheModule) {
  nn::ModulePtr model = three_linears();
  convert_module(*model, Config());
  EXPECT_EQ(model->parameters()[0].dtype(), DType::float32);
  Config config;
  config.bf16.enabled = true;
  convert_module(*model, config);
  for (const Tensor& parameter : model->parameters()) EXPECT_EQ(parameter.dtype(), DType::bfloat16);
}

// WithBuffers has buffers, and a child with one.
class WithBuffers final : public nn::Module {
 public:
  explicit WithBuffers(int depth = 1) {
    register_parameter("weight", zeros({2}, DType::float32));
    register_buffer("correction_bias", full({1}, DType::float32, 5.0 / 3));
    register_buffer("count", zeros({1}, DType::int64));
    if (depth > 0) register_child("gate", std::make_shared<WithBuffers>(depth - 1));
  }
  nn::Tensors forward(const nn::Tensors& inputs) override { return inputs; }
};

// If this fails, buffers are rounded that DeepSpeed leaves alone, or the other way round.
TEST(EngineSetup, ConvertsBuffersWhereAsked) {
  auto dtypes_with = [](bool is_bf16, const DataTypes& types) {
    WithBuffers model;
    Config config;
    config.bf16.enabled = is_bf16;
    config.data_types = types;
    convert_module(model, config);
    EXPECT_EQ(model.parameters()[1].dtype(), is_bf16 ? DType::bfloat16 : DType::float32);
    std::vector<DType> dtypes;
    for (const auto& [path, part] : model.named_modules()) {
      dtypes.push_back(part->buffers()[0].tensor.dtype());
      EXPECT_EQ(part->buffers()[1].tensor.dtype(), DType::int64);
    }
    return dtypes;
  };
  using DTypes = std::vector<DType>;
  constexpr DType wide = DType::float32, narrow = DType::bfloat16;
  EXPECT_EQ(dtypes_with(true, {}), (DTypes{wide, wide}));
  EXPECT_EQ(dtypes_with(true, {.buffer_dtype = narrow}), (DTypes{narrow, narrow}));
  EXPECT_EQ(dtypes_with(false, {.buffer_dtype = narrow}), (DTypes{narrow, narrow}));
  for (const char* pattern : {"gate.correction_bias", "gate*bias", "g*e.corr"})
    EXPECT_EQ(dtypes_with(true, {.buffer_dtype = narrow, .keep_in_fp32_modules = {{pattern}}}),
              (DTypes{narrow, wide}))
        << pattern;
  EXPECT_EQ(dtypes_with(true, {.buffer_dtype = narrow, .keep_in_fp32_modules = {{"bias*gate"}}}),
            (DTypes{narrow, narrow}));
  EXPECT_EQ(dtypes_with(false, {.buffer_dtype = narrow, .keep_in_fp32_modules = {{"bias"}}}),
            (DTypes{narrow, narrow}));
}

// If this fails, a model of 16 bits with running statistics can't train, or rounds them.
SIMMESH_TEST(EngineSetup, StatisticsStayWide, {.mesh = {2}, .schedules = 2}) {
  Config config;
  config.bf16.enabled = true;
  config.optimizer = OptimizerConfig{};
  std::vector<nn::NamedModule> children;
  children.emplace_back("first", new_linear(3, 4));
  children.emplace_back("norm", std::make_shared<nn::BatchNorm1d>(nn::BatchNorm::Options{4}));
  nn::Sequential model(children);
  Engine engine = initialize(model, config, ProcessGroup::world());
  engine.backward(sum(engine(to(rank_input(mesh.get_rank(), 0, {2, 3}), DType::bfloat16))));
  engine.step();
  EXPECT_EQ(model.named_modules()[2].second->buffers()[0].tensor.dtype(), DType::float32);
}

// If this fails, the section optimizer makes another optimizer than DeepSpeed does.
TEST(EngineSetup, MakesTheConfiguredOptimizer) {
  std::vector<nn::NamedTensor> masters = {{"weight", formula({2}, {})}};
  OptimizerConfig config{.type = "SGD", .lr = 0.5};
  auto sgd = configured_optimizer(config)(masters);
  EXPECT_TRUE(dynamic_cast<optim::Sgd*>(sgd.get()));
  expect_error([&] { check_optimizer(*sgd, of_stage(2)); }, ErrorKind::assertion_error,
               "untested with ZeRO");
  EXPECT_NO_THROW(check_optimizer(*sgd, of_stage(0)));
  Config allowing = of_stage(2);
  allowing.zero_allow_untested_optimizer = true;
  EXPECT_NO_THROW(check_optimizer(*sgd, allowing));
  config.type = "AdamW";
  auto adam = configured_optimizer(config)(masters);
  EXPECT_TRUE(dynamic_cast<optim::Adam*>(adam.get()));
  EXPECT_NO_THROW(check_optimizer(*adam, of_stage(2)));
  config.type = "Muon";
  auto muon = configured_optimizer(config)(masters);
  EXPECT_NO_THROW(check_optimizer(*muon, of_stage(2)));
  expect_error([&] { check_optimizer(*muon, of_stage(3)); }, ErrorKind::value_error,
               "Muon and reduce scatter cannot be used together");
}

// If this fails, a scheduler of PyTorch trains where DeepSpeed can't make it.
TEST(EngineSetup, TakesSchedulersOfPyTorchAroundPlainOptimizersOnly) {
  auto refuse = [](Config config, const char* wrapper) {
    config.scheduler = StepLR{.step_size = 3};
    expect_error([&] { completed_config(config, 2, true); }, ErrorKind::type_error,
                 fmt::format(": {} is not an Optimizer", wrapper));
  };
  Config config;
  config.scheduler = StepLR{.step_size = 3};
  EXPECT_NO_THROW(completed_config(config, 2, true));
  refuse(of_stage(1), "DeepSpeedZeroOptimizer");
  refuse(of_stage(3), "DeepSpeedZeroOptimizer_Stage3");
  Config half;
  half.fp16.enabled = true;
  half.optimizer = OptimizerConfig{.type = "SGD"};
  refuse(half, "FP16_UnfusedOptimizer");
  half.optimizer = OptimizerConfig{};
  refuse(half, "FP16_Optimizer");
  Config wide = of_stage(1);
  wide.bf16.enabled = true;
  wide.data_types.grad_accum_dtype = DType::float32;
  refuse(wide, "BF16_Optimizer");
}

}  // namespace
}  // namespace simmesh::zero
