#include "gate/tables/zero.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "gate/explain.h"
#include "gate/report.h"
#include "gate/run_gate.h"
#include "tests/gate/gate_texts.h"
#include "tests/gate/tables/zero_gate_text.h"

namespace simmesh {
namespace {

std::string zero_gate_with(const std::string& zero, const std::string& expect = "schedules = 2") {
  return testing::zero_gate_text(
      {.data = "batch = 4", .zero = "{ " + zero + " }", .expect = expect});
}

void expect_bad_zero(const std::string& zero, const std::string& phrase) {
  testing::expect_refused(zero_gate_with(zero), phrase);
}

TEST(GateZero, ReadsTheKeysOfZeroOptimization) {
  GateFile gate = gate_from_text(
      zero_gate_with(
          "mesh = \"dp\", stage = 2, reduce_bucket_size = 77, stage3_max_live_parameters = 5, "
          "offload_optimizer = { device = \"cpu\" }"),
      "gate.toml");
  const GateZero& zero = gate.parallel.zero.value();
  EXPECT_EQ(zero.stage(), 2);
  EXPECT_EQ(gate.parallel.form(), "zero2");
  EXPECT_EQ(zero.config.zero_optimization.reduce_bucket_size, 77);
  EXPECT_EQ(zero.config.zero_optimization.max_live_parameters, 5);
  EXPECT_EQ(zero.config.zero_optimization.offload_optimizer->device, zero::OffloadDevice::cpu);
  EXPECT_EQ(gate_from_text(zero_gate_with("mesh = \"dp\""), "gate.toml").parallel.form(), "zero3");
}

TEST(GateZero, ErrorsSayWhere) {
  expect_bad_zero("stage = 2, reduce_bucket = 3", "'reduce_bucket_size'");
  expect_bad_zero("stage = 5", "zero_optimization.stage: expected 0, 1, 2 or 3, got 5");
  expect_bad_zero("mesh = \"tp\"", "tp");
  for (const char* value : {"nan", "-inf", "1979-05-27", "[07:32:00]", "{ a = inf }"})
    expect_bad_zero(std::string("overlap_comm = ") + value, "a value that JSON has");
  expect_bad_zero("reduce_bucket_size = \"many\"", "unable to parse string as an integer");
}

// --explain prints a gate that reads as the same.
TEST(GateZero, ExplainsItself) {
  GateFile gate = gate_from_text(
      zero_gate_with(
          "stage = 3, stage3_prefetch_bucket_size = 7, offload_param = { device = \"cpu\" }",
          "same_as = [\"zero1\", \"single_device\"]"),
      "gate.toml");
  std::string text = explain(gate);
  EXPECT_EQ(explain(gate_from_text(text, "gate.toml")), text);
  EXPECT_THAT(text, ::testing::HasSubstr("prefetch_bucket_size = 7"));
}

// If this fails, a stage differs from one device, or the table of what it holds is wrong.
TEST(GateZero, EqualsOtherFormsAndShowsWhatItHolds) {
  for (int stage = 0; stage <= 3; ++stage) {
    GateFile gate = gate_from_text(
        zero_gate_with(fmt::format("stage = {}, stage3_param_persistence_threshold = 8", stage),
                       "same_as = [\"single_device\", \"fsdp\", \"zero0\", \"zero3\"]"),
        "gate.toml");
    GateResult result = run_gate(gate);
    EXPECT_EQ(result.failed(), 0) << to_text(std::vector<GateResult>{result});
    const zero::MemoryUse& last = result.zero_memory.back().second;
    EXPECT_EQ(result.zero_memory.back().first, "step 1 step");
    EXPECT_EQ(last.gradients, 0);
    EXPECT_EQ(last.shards > 0, stage == 3);
    EXPECT_EQ(last.persistent > 0, stage == 3);
    EXPECT_EQ(last.master > 0, stage == 1 || stage == 2);
    EXPECT_THAT(to_text(std::vector<GateResult>{result}), ::testing::HasSubstr("step 1 backward"));
    EXPECT_THAT(to_json(std::vector<GateResult>{result}), ::testing::HasSubstr("\"zero_memory\""));
  }
}

}  // namespace
}  // namespace simmesh
