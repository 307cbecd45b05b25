#include "zero/config/config_features.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

// If this fails, a file that asks for something else trains without a word.
TEST(ZeroConfigFeatures, NamesWhatIsMissing) {
  auto refuses = [](const std::string& entry, const std::string& phrase) {
    expect_error([&] { refuse_missing_features(JsonValue::parse("{" + entry + "}")); },
                 ErrorKind::value_error, phrase);
  };
  refuses(R"("sparse_gradients": true)", "sparse_gradients: expected false, got true");
  refuses(R"("graph_harvesting": true)", "graph_harvesting: expected false, got true");
  for (const char* name : {"compression_training", "tensor_parallel", "pipeline"})
    refuses(fmt::format(R"("{}": {{}})", name), fmt::format("{}: expected no such section", name));
  for (const char* name : {"amp", "torch_autocast", "elasticity", "data_efficiency"}) {
    refuses(fmt::format(R"("{}": {{"enabled": true}})", name),
            fmt::format("{}.enabled: expected false, got true", name));
    refuse_missing_features(
        JsonValue::parse(fmt::format(R"({{"{}": {{"enabled": false}}}})", name)));
  }
  refuse_missing_features(
      JsonValue::parse(R"({"flops_profiler": {"enabled": true}, "pipeline": null})"));
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

TEST(ZeroConfigFeatures, TakesTheDefaultOnly) {
  JsonValue section = JsonValue::parse(R"({"a": false, "b": null, "c": 1})");
  take_default_only(section, "x.", "a", JsonValue(false));
  take_default_only(section, "x.", "b", JsonValue(false));
  take_default_only(section, "x.", "missing", JsonValue(false));
  EXPECT_EQ(section.text(), JsonValue::parse(R"({"c": 1})").text());
  expect_error([&] { take_default_only(section, "x.", "c", JsonValue(std::int64_t(2))); },
               ErrorKind::value_error, "x.c: expected 2, got 1");
}

}  // namespace
}  // namespace simmesh::zero
