#include "zero/config/config.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"
#include "zero/config/config_section.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

Config read_section(const std::string& section) {
  return Config::from_json("{\"train_batch_size\": 8, \"zero_optimization\": " + section + "}");
}

void expect_refused(const std::string& section, const std::string& phrase,
                    ErrorKind kind = ErrorKind::value_error) {
  expect_error([&] { read_section(section); }, kind, phrase);
}

// If this fails, a missing batch size isn't what DeepSpeed computes, or a wrong one passes.
TEST(ZeroConfig, CompletesBatchSizes) {
  BatchSizes sizes =
      Config{.train_batch_size = 24, .train_micro_batch_size_per_gpu = 2}.batch_sizes(3);
  EXPECT_EQ(sizes.gradient_accumulation_steps, 4);
  sizes = Config{.train_batch_size = 24, .gradient_accumulation_steps = 2}.batch_sizes(3);
  EXPECT_EQ(sizes.train_micro_batch_size_per_gpu, 4);
  sizes =
      Config{.train_micro_batch_size_per_gpu = 5, .gradient_accumulation_steps = 2}.batch_sizes(3);
  EXPECT_EQ(sizes.train_batch_size, 30);
  EXPECT_EQ(Config{.train_batch_size = 6}.batch_sizes(3).train_micro_batch_size_per_gpu, 2);
  constexpr auto assertion = ErrorKind::assertion_error;
  expect_error([] { Config{.train_batch_size = 7}.batch_sizes(3); }, assertion,
               "= 2 * 1 * 3, got 7");
  expect_error([] { Config{.train_batch_size = 2}.batch_sizes(3); }, assertion,
               "train_micro_batch_size_per_gpu: expected a number greater than 0");
  expect_error([] { Config().batch_sizes(3); }, assertion, "got neither");
  expect_error([] { Config{.train_batch_size = std::int64_t(1) << 40}.batch_sizes(1); },
               ErrorKind::value_error, "at most 2147483648");
}

TEST(ZeroConfig, ReadsFilesAsTheyAre) {
  Config config = Config::from_json(R"({
    // what Hugging Face's files look like
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_clipping": "auto", "steps_per_print": 2000, "wall_clock_breakdown": false,
    "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": [0.5, 0.75], "eps": 1e-7}},
    "zero_optimization": {
      "stage": 3, "overlap_comm": true, "reduce_bucket_size": "auto",
      "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
      "sub_group_size": 1e9, "stage3_gather_16bit_weights_on_model_save": true,
      "offload_optimizer": {"device": "cpu", "pin_memory": true}
    }
  })",
                                    {.train_micro_batch_size_per_gpu = 4,
                                     .gradient_clipping = 0.5,
                                     .bf16 = true,
                                     .lr = 0.25,
                                     .hidden_size = 100});
  const ZeroOptimization& zero = config.zero_optimization;
  EXPECT_EQ(config.train_micro_batch_size_per_gpu, 4);
  EXPECT_EQ(config.gradient_clipping, 0.5);
  EXPECT_TRUE(config.bf16.enabled);
  EXPECT_EQ(config.optimizer->lr, 0.25);
  EXPECT_EQ(config.optimizer->betas[1], 0.75);
  EXPECT_EQ(zero.reduce_bucket_size, 10'000);
  EXPECT_EQ(zero.prefetch_bucket_size, 9'000);
  EXPECT_EQ(zero.param_persistence_threshold, 1'000);
  EXPECT_EQ(zero.sub_group_size, 1'000'000'000);
  EXPECT_TRUE(zero.gather_16bit_weights_on_model_save);
  EXPECT_EQ(zero.offload_optimizer->device, OffloadDevice::cpu);
}

// Each message names the key, the expected value and the given one.
TEST(ZeroConfig, ErrorsNameTheKey) {
  expect_refused(R"({"stage": 4})", "zero_optimization.stage: expected 0, 1, 2 or 3, got 4");
  expect_refused(R"({"reduce_bucket_size": 0})",
                 "reduce_bucket_size: expected a number greater than 0");
  expect_refused(R"({"reduce_bucket_size": 1e19})", "expected an integer of 64 bits");
  expect_refused(R"({"sub_group_size": [1]})", "sub_group_size: expected a valid integer, got [1]");
  expect_refused(R"({"sub_group_size": 1, "sub_group_size": 1})", "sub_group_size twice");
  expect_refused(R"({"prefetch_bucket_size": 1, "stage3_prefetch_bucket_size": 1})",
                 "expected zero_optimization.prefetch_bucket_size once");
  expect_refused(R"({"mics_shard_size": 2})",
                 "zero_optimization.mics_shard_size: expected no such key");
  expect_refused(R"({"zeropp_loco_param": null})", "zeropp_loco_param: expected no such key");
  expect_refused(R"({"zenflow": {}})", "zero_optimization.zenflow: simmesh has no ZenFlow");
  expect_refused(R"({"overlap_comm": "perhaps"})", "overlap_comm: expected a valid boolean");
  expect_refused(R"({"offload_param": {"device": "disk"}})",
                 "offload_param.device: expected 'none'");
  expect_refused(R"({"offload_param": 3})", "expected an object, got 3");
  expect_refused(R"({"cpu_offload": true, "offload_optimizer": {}})", "got both",
                 ErrorKind::assertion_error);
  expect_refused(R"({"leaf_module": {"names": [1]}})",
                 "leaf_module.names[0]: expected a valid string");
  expect_refused("{", "expected JSON");
  expect_error([] { Config::from_json("[1]"); }, ErrorKind::type_error, "expected an object");
  expect_error([] { Config::from_json_file("/nowhere/ds.json"); }, ErrorKind::value_error,
               "/nowhere/ds.json");
}

// Written values read as the same, so nothing is lost. If this fails, a value is read otherwise
// than DeepSpeed's pydantic reads it.
TEST(ZeroConfig, ReadsNumbersAndFlagsAsDeepSpeedDoes) {
  for (const char* text : {"\"7\"", "\" 7 \"", "\"+7\"", "\"7.0\"", "7.0", "7"})
    EXPECT_EQ(read_section("{\"sub_group_size\": " + std::string(text) + "}")
                  .zero_optimization.sub_group_size,
              7)
        << text;
  EXPECT_EQ(read_section(R"({"sub_group_size": "1_000"})").zero_optimization.sub_group_size, 1000);
  for (const char* text : {"_1", "1_", "1__0", "1e6", "7.5", ".0", "7."})
    expect_refused("{\"sub_group_size\": \"" + std::string(text) + "\"}", "sub_group_size");
  expect_refused(R"({"cpu_offload_use_pin_memory": "x"})", "cpu_offload_use_pin_memory");
  expect_refused(R"({"compute_grad_norm": false, "stage": 3})", "compute_grad_norm");
  expect_refused(R"({"offload_param": 1})", "offload_param: expected an object");
  expect_refused(R"({"leaf_module": 1})", "leaf_module: expected an object", ErrorKind::type_error);
}

// If this fails, another of two faults is named than by DeepSpeed: a wrong value comes before an
// unknown key, and values in the order of the keys of its class.
TEST(ZeroConfig, NamesTheFaultThatDeepSpeedNames) {
  expect_refused(R"({"foo": 1, "sub_group_size": -1})", "sub_group_size");
  expect_refused(R"({"leaf_module": {"classes": 1}, "reduce_scatter": "x"})", "reduce_scatter");
}

TEST(ZeroConfig, ChecksTheLossScaleOnlyWhereItIsDynamic) {
  auto read = [](const std::string& section) {
    return Config::from_json("{\"train_batch_size\": 8, \"fp16\": " + section + "}");
  };
  EXPECT_EQ(read(R"({"enabled": true, "loss_scale": 8, "loss_scale_window": 0})").fp16.loss_scale,
            8);
  EXPECT_FALSE(read(R"({"min_loss_scale": 0})").fp16.enabled);
  for (const char* name : {"loss_scale_window", "min_loss_scale"})
    for (const char* value : {"0", "-1", "true"})
      expect_error([&] { read(fmt::format("{{\"enabled\": true, \"{}\": {}}}", name, value)); },
                   ErrorKind::value_error, name);
}

// If this fails, a key that DeepSpeed obeys is dropped without a word.
TEST(ZeroConfig, ObeysOldAndRareKeys) {
  auto read = [](const std::string& keys) {
    return Config::from_json("{train_batch_size: 8, " + keys + "}");
  };
  EXPECT_TRUE(read("bfloat16: {enabled: true}").bf16.enabled);
  EXPECT_TRUE(read("bf16: null, bfloat16: {enabled: true}").bf16.enabled);
  EXPECT_FALSE(read("bf16: {}, bfloat16: {enabled: true}").bf16.enabled);
  EXPECT_TRUE(read("gradient_allreduce_op: 'SUM'").sum_gradients);
  EXPECT_FALSE(read("managed_gradient_accumulation: false").managed_gradient_accumulation);
  EXPECT_FALSE(read("fp16: {enabled: 'auto'}").fp16.enabled);
  EXPECT_TRUE(read("fp16: {enabled: true, auto_cast: true}").fp16.auto_cast);
  EXPECT_EQ(read("zero_optimization: {stage3_module_granularity_threshold: -1}")
                .zero_optimization.module_granularity_threshold,
            -1);
  expect_error([&] { read("gradient_allreduce_op: 'sum', zero_optimization: {stage: 3}"); },
               ErrorKind::value_error, "gradient_allreduce_op: expected 'mean' in stage 3");
  expect_error([&] { read("gradient_allreduce_op: 'max'"); }, ErrorKind::value_error, "'sum'");
  expect_error(
      [&] { read("zero_optimization: {stage: 3, offload_optimizer: {device: 'cpu', ratio: 2}}"); },
      ErrorKind::value_error, "offload_optimizer.ratio: expected a number less than or equal to 1");
}

TEST(ZeroConfig, KeepsDeepSpeedsLeafClasses) {
  const LeafModule leaf =
      read_section(R"({"leaf_module": {"names": ["a.b"]}})").zero_optimization.leaf_module;
  EXPECT_EQ(leaf.classes, LeafModule::default_classes());
  EXPECT_EQ(leaf.names, std::vector<std::string>{"a.b"});
}

TEST(ZeroConfig, WritesWhatItReads) {
  Config config{.train_batch_size = 4, .gradient_clipping = 0.25, .sum_gradients = true};
  config.zero_optimization = {.stage = 2, .reduce_bucket_size = 77, .round_robin_gradients = true};
  config.zero_optimization.offload_optimizer = OffloadOptimizer{.device = OffloadDevice::cpu};
  config.data_types.grad_accum_dtype = DType::float32;
  config.optimizer = OptimizerConfig{.type = "SGD", .momentum = 0.5};
  std::string text = config.to_json();
  Config again = Config::from_json(text);
  EXPECT_EQ(Config::from_json(again.to_json()).to_json(), again.to_json());
  EXPECT_EQ(again.zero_optimization.reduce_bucket_size, 77);
  EXPECT_EQ(again.optimizer->momentum, 0.5);
  EXPECT_EQ(again.data_types.grad_accum_dtype, DType::float32);
  EXPECT_TRUE(again.sum_gradients);
}

TEST(ZeroConfig, ChecksWhatAProgramFillsIn) {
  EXPECT_NO_THROW(Config().check());
  Config config{.gradient_clipping = -1};
  expect_error([&] { config.check(); }, ErrorKind::value_error, "gradient_clipping: expected");
  Config both{.fp16 = {.enabled = true}, .bf16 = {.enabled = true}};
  expect_error([&] { both.check(); }, ErrorKind::assertion_error, "fp16.enabled or bf16.enabled");
}

TEST(ZeroConfig, ScalesAsDeepSpeedDoes) {
  EXPECT_EQ(Fp16{}.scaler().scale, 65536.0);
  EXPECT_TRUE(Fp16{}.scaler().is_dynamic);
  EXPECT_FALSE(Fp16{.loss_scale = 128}.scaler().is_dynamic);
}

}  // namespace
}  // namespace simmesh::zero
