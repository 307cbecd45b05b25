#include "zero/config/config_autos.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

// The files that Hugging Face's trainer is documented with have these keys, for stages 2 and 3.
constexpr const char* precision_keys = R"(
  "fp16": {"enabled": "auto", "loss_scale": 0, "loss_scale_window": 1000,
           "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1},
  "bf16": {"enabled": "auto"},
  "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto",
                "weight_decay": "auto", "torch_adam": true, "adam_w_mode": true}},)";
constexpr const char* size_keys = R"(
  "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "steps_per_print": 2000,
  "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
  "wall_clock_breakdown": false)";
constexpr const char* stage2_keys = R"(
  "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": "auto", "warmup_max_lr": "auto",
                "warmup_num_steps": "auto"}},
  "zero_optimization": {
    "stage": 2, "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "allgather_partitions": true, "allgather_bucket_size": 2e8, "overlap_comm": true,
    "reduce_scatter": true, "reduce_bucket_size": 2e8, "contiguous_gradients": true},)";
constexpr const char* stage3_keys = R"(
  "scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": "auto",
                "warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto"}},
  "zero_optimization": {
    "stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "offload_param": {"device": "auto", "pin_memory": true}, "overlap_comm": true,
    "contiguous_gradients": true, "sub_group_size": 1e9, "reduce_bucket_size": "auto",
    "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
    "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9,
    "stage3_gather_16bit_weights_on_model_save": true},)";

std::string file_of(const char* stage_keys) {
  return std::string("{") + precision_keys + stage_keys + size_keys + "}";
}

AutoValues trainer_values() {
  return {.train_micro_batch_size_per_gpu = 4,
          .gradient_accumulation_steps = 2,
          .gradient_clipping = 0.5,
          .bf16 = true,
          .lr = 0.25,
          .weight_decay = 0.125,
          .betas = {{0.5, 0.75}},
          .eps = 1e-6,
          .hidden_size = 100,
          .warmup_num_steps = 30,
          .total_num_steps = 500};
}

// If this fails, a stock file doesn't load as it is.
TEST(ZeroConfigAutos, ReadsStockFilesOfStage2) {
  Config config = Config::from_json(file_of(stage2_keys), trainer_values());
  EXPECT_TRUE(config.bf16.enabled);
  EXPECT_FALSE(config.fp16.enabled) << "only one of the two can be";
  EXPECT_EQ(config.batch_sizes(8).train_batch_size, 64);
  EXPECT_EQ(config.gradient_clipping, 0.5);
  EXPECT_EQ(config.optimizer->lr, 0.25);
  EXPECT_EQ(config.optimizer->betas[1], 0.75);
  EXPECT_EQ(config.optimizer->eps, 1e-6);
  EXPECT_EQ(config.optimizer->weight_decay, 0.125);
  EXPECT_EQ(config.zero_optimization.reduce_bucket_size, 200'000'000);
  const auto& warmup = std::get<WarmupLR>(*config.scheduler);
  EXPECT_EQ(warmup.warmup_min_lr, PerGroup(0.0));
  EXPECT_EQ(warmup.warmup_max_lr, PerGroup(0.25));
  EXPECT_EQ(warmup.warmup_num_steps, 30);
}

TEST(ZeroConfigAutos, ReadsStockFilesOfStage3) {
  Config config = Config::from_json(file_of(stage3_keys), trainer_values());
  const ZeroOptimization& zero = config.zero_optimization;
  EXPECT_EQ(zero.reduce_bucket_size, 10'000);
  EXPECT_EQ(zero.prefetch_bucket_size, 9'000);
  EXPECT_EQ(zero.param_persistence_threshold, 1'000);
  EXPECT_EQ(zero.sub_group_size, 1'000'000'000);
  EXPECT_EQ(zero.offload_optimizer->device, OffloadDevice::cpu);
  EXPECT_EQ(zero.offload_param->device, OffloadDevice::none);
  const auto& decay = std::get<WarmupDecayLR>(*config.scheduler);
  EXPECT_EQ(decay.total_num_steps, 500);
  EXPECT_EQ(decay.warmup_num_steps, 30);
}

// Without any of them the default holds in zero_optimization, and all else is named.
TEST(ZeroConfigAutos, NeedAValueWhereNothingGivesOne) {
  auto refuses = [](const std::string& entries, const std::string& key) {
    expect_error([&] { Config::from_json("{" + entries + "}"); }, ErrorKind::value_error,
                 key + ": expected a value that \"auto\" stands for, got none");
  };
  const std::string size = R"("train_batch_size": 8, )";
  refuses(R"("train_batch_size": "auto")", "train_batch_size");
  refuses(R"("train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": "auto")",
          "gradient_accumulation_steps");
  refuses(size + R"("gradient_clipping": "auto")", "gradient_clipping");
  refuses(size + R"("optimizer": {"type": "Adam", "params": {"eps": "auto"}})",
          "optimizer.params.eps");
  for (const char* key : {"warmup_num_steps", "total_num_steps", "warmup_max_lr", "warmup_type"})
    refuses(
        size + R"("scheduler": {"type": "WarmupDecayLR", "params": {")" + key + R"(": "auto"}})",
        std::string("scheduler.params.") + key);
  Config config = Config::from_json(
      "{" + size + R"("zero_optimization": {"reduce_bucket_size": "auto", "stage": "auto"},
                      "fp16": {"enabled": "auto", "loss_scale": "auto"}})");
  EXPECT_EQ(config.zero_optimization.reduce_bucket_size, 500'000'000);
  EXPECT_EQ(config.zero_optimization.stage, 0);
  EXPECT_FALSE(config.fp16.enabled);
}

// The file is enough for some: two batch sizes for the third, the optimiser's lr.
TEST(ZeroConfigAutos, FollowFromTheFile) {
  Config config = Config::from_json(R"({
    "train_batch_size": 24, "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": 0.5}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": "auto"}}})");
  EXPECT_EQ(config.batch_sizes(3).gradient_accumulation_steps, 4);
  EXPECT_EQ(std::get<WarmupLR>(*config.scheduler).warmup_max_lr, PerGroup(0.5));
  config = Config::from_json(
      R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": 2,
          "fp16": {"enabled": true}, "bf16": {"enabled": "auto"}})",
      {.fp16 = true});
  EXPECT_EQ(config.batch_sizes(3).train_batch_size, 6);
  EXPECT_FALSE(config.bf16.enabled);
}

}  // namespace
}  // namespace simmesh::zero
