#include "zero/engine/config_cost.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simmesh::zero {
namespace {

using ::testing::HasSubstr;

std::string cost_of(const std::string& text, const std::string& key,
                    std::optional<std::int64_t> parameters = {}) {
  Config config = Config::from_json(text);
  return ConfigCost(config, 8, parameters).of("zero_optimization." + key);
}

// The formulas are those of docs/zero.md, by hand: P = 1001, W = 8, 126 elements a shard. If this
// fails, the command and the page disagree.
TEST(ConfigCost, FollowsTheFormulas) {
  const std::string stage3 =
      "{train_batch_size: 16, bf16: {enabled: true}, optimizer: {type: 'Adam'}, "
      "zero_optimization: {stage: 3, reduce_bucket_size: 100, sub_group_size: 300}}";
  EXPECT_EQ(cost_of(stage3, "stage", 1001),
            "parameters 2 P / W = 252 bytes, masters 4 P / W = 504 bytes, gradients 2 P / W = 252 "
            "bytes, state of the optimizer 8 P / W = 1008 bytes");
  EXPECT_THAT(cost_of(stage3, "reduce_bucket_size", 1001),
              HasSubstr("ceil(P / 100) = 11 reduce-scatters a step"));
  EXPECT_THAT(cost_of(stage3, "sub_group_size", 1001), HasSubstr("ceil(P / 300) = 4"));
  EXPECT_EQ(cost_of("{train_batch_size: 16}", "stage"),
            "parameters 4 P bytes, gradients 4 P bytes");
}

// If this fails, the accumulation, the device or the optimizer don't count.
TEST(ConfigCost, KnowsWhatElseTheFileSays) {
  const std::string stage2 =
      "{train_batch_size: 32, gradient_accumulation_steps: 2, optimizer: {type: 'Lion'}, "
      "zero_optimization: {stage: 2, offload_optimizer: {device: 'cpu'}}}";
  EXPECT_EQ(cost_of(stage2, "stage"),
            "parameters 4 P bytes, masters 4 P / W bytes, gradients 4 P / W bytes, state of the "
            "optimizer 4 P / W bytes");
  EXPECT_THAT(cost_of(stage2, "reduce_bucket_size"),
              HasSubstr("2 ceil(P / 500000000) all-reduces a step"));
  EXPECT_THAT(cost_of(stage2, "offload_optimizer.device"), HasSubstr("the host's memory"));
  EXPECT_EQ(cost_of(stage2, "prefetch_bucket_size"), "");
}

// If this fails, nobody sees that an optimizer gathers, or that masters of 16 bits take half.
// If this fails, the report of a file is silent about what torch_autocast lowers.
TEST(ConfigCost, SaysWhatAutocastLowers) {
  auto lowered = [](const char* autocast, int stage) {
    Config config = Config::from_json(
        fmt::format(R"({{"train_batch_size": 8, "zero_optimization": {{"stage": {}}},
                       "torch_autocast": {}}})",
                    stage, autocast));
    return ConfigCost(config, 2, {}).of("torch_autocast.enabled");
  };
  EXPECT_EQ(lowered(R"({"enabled": true})", 3), "forward in bfloat16");
  EXPECT_EQ(lowered(R"({"enabled": true, "dtype": "float16"})", 0), "forward in float16");
  EXPECT_EQ(lowered(R"({"enabled": true, "dtype": "bfloat16"})", 2),
            "forward in bfloat16; gradients of the safe modules are reduced in 2 bytes an element, "
            "in buckets of their own");
  EXPECT_THAT(lowered(R"({"enabled": true, "dtype": "bfloat16"})", 3),
              ::testing::EndsWith("and their parameters gathered in 2 bytes"));
  EXPECT_EQ(lowered(R"({"enabled": true, "dtype": "float32"})", 3), "");
  EXPECT_EQ(lowered(R"({"enabled": false, "dtype": "bfloat16"})", 3), "");
}

TEST(ConfigCost, KnowsWholeStepsAndNarrowMasters) {
  auto cost_by = [](const std::string& optimizer, int stage) {
    Config config = Config::from_json(
        fmt::format("{{train_batch_size: 8, optimizer: {{type: '{}'}}, zero_optimization: {{stage: "
                    "{}}}}}",
                    optimizer, stage));
    return ConfigCost(config, 8, {}).of("optimizer.type");
  };
  EXPECT_THAT(cost_by("Lamb", 1), HasSubstr("one all-gather a parameter a step"));
  EXPECT_THAT(cost_by("Muon", 2), HasSubstr("one all-gather a matrix a step"));
  EXPECT_EQ(cost_by("Muon", 0), "");
  EXPECT_EQ(cost_by("Adamax", 2), "");
  EXPECT_EQ(
      cost_of("{train_batch_size: 8, optimizer: {type: 'Adam'}, zero_optimization: {stage: 2}, "
              "bf16: {enabled: true, bf16_master_weights_and_grads: true, "
              "bf16_optimizer_states: true}}",
              "stage"),
      "parameters 2 P bytes, masters 2 P / W bytes, gradients 2 P / W bytes, state of the "
      "optimizer 4 P / W bytes");
}

}  // namespace
}  // namespace simmesh::zero
