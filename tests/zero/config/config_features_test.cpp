#include "zero/config/config_features.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

using Names = std::vector<std::string>;

// If this fails, a file that asks for something else trains without a word.
TEST(ZeroConfigFeatures, NamesWhatIsMissing) {
  auto refuses = [](const std::string& config, const std::string& phrase) {
    expect_error([&] { refuse_missing_features(JsonValue::parse(config)); }, ErrorKind::value_error,
                 phrase);
  };
  refuses(R"({"tensor_parallel": {"autotp_size": 2}})",
          "tensor_parallel.autotp_size: simmesh has no AutoTP");
  refuses(R"({"zero_optimization": {"zenflow": {}}})", "zenflow: simmesh has no ZenFlow");
  refuses(R"({"torch_autocast": {"enabled": true, "dtype": "int8"}})",
          "torch_autocast: simmesh has no autocast in int8");
  refuses(R"({"data_efficiency": {"enabled": true, "data_routing": {"enabled": true}}})",
          "simmesh has no data sampling");
  refuse_missing_features(JsonValue::parse(R"({
    "tensor_parallel": {"autotp_size": 1}, "data_efficiency": {"enabled": true, "seed": 1},
    "zero_optimization": {"zenflow": null}, "compile": {"deepcompile": "auto"}, "pipeline": {}})"));
}

// DeepSpeed refuses these keys whatever their values are, so that nobody trains without them.
TEST(ZeroConfigFeatures, RefusesKeysThatDeepSpeedHasRemoved) {
  for (const char* config :
       {R"({"amp": null})", R"({"elasticity": {"enabled": false}})",
        R"({"sparse_gradients": false})", R"({"zero_optimization": {"mics_shard_size": 0}})"})
    expect_error([&] { refuse_removed_keys(JsonValue::parse(config)); }, ErrorKind::value_error,
                 "DeepSpeed 0.19.8 has removed");
  refuse_removed_keys(JsonValue::parse(R"({"zero_optimization": true})"));
}

// A key that is only nearly known would be left alone, and another batch would train.
TEST(ZeroConfigFeatures, RefusesMisspeltKeys) {
  for (const char* key : {"gradient_acumulation_steps", "gradient_cliping", "zero_optimisation",
                          "train_microbatch_size_per_gpu", "optimiser", "schedular"})
    expect_error(
        [&] { refuse_misspelt_keys(JsonValue::parse(fmt::format(R"({{"{}": 1}})", key))); },
        ErrorKind::value_error, fmt::format("{}: expected a known key such as ", key));
  refuse_misspelt_keys(
      JsonValue::parse(R"({"steps_per_print": 10, "wandb": {}, "aio": {}, "scheduler": {}})"));
}

// If this fails, the report of a file hides that a key is without effect, or says so of one that
// trains.
TEST(ZeroConfigFeatures, TellsIdleAndUnknownKeysFromOurs) {
  JsonValue config = JsonValue::parse(R"({"train_batch_size": 8, "bfloat16": {}, "wandb": {},
    "steps_per_print": 10, "my_key": 1, "zero_optimization": {}, "gradient_allreduce_op": "sum"})");
  EXPECT_EQ(idle_keys(config), (Names{"wandb", "steps_per_print"}));
  EXPECT_EQ(unknown_keys(config), Names{"my_key"});
}

}  // namespace
}  // namespace simmesh::zero
