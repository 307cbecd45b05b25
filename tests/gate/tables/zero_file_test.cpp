#include "gate/tables/zero_file.h"

#include <fmt/format.h>
#include <fstream>

#include "gate/explain.h"
#include "tests/gate/gate_texts.h"
#include "tests/gate/tables/zero_gate_text.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

// A gate of two ranks in a folder with a DeepSpeed file.
class GateZeroFile : public ::testing::Test {
 protected:
  void write(const std::string& config) const { folder_.write("ds_config.json", config); }

  static std::string text(const std::string& data = "", const std::string& train = "",
                          const std::string& expect = "schedules = 2") {
    return testing::zero_gate_text(
        {.data = data, .zero = "\"ds_config.json\"", .train = train, .expect = expect});
  }

  GateFile read(const std::string& gate) const {
    return gate_from_text(gate, (folder_.path() / "gate.toml").string());
  }

  void expect_zero_file_refused(const std::string& gate, const std::string& phrase) const {
    testing::expect_error<BadGate>([&] { read(gate); }, ErrorKind::value_error, phrase);
  }

  testing::TemporaryFolder folder_;
};

// If this fails, a part of the file is dropped, and the gate trains something else.
TEST_F(GateZeroFile, GivesTheGateItsTraining) {
  write(R"({train_batch_size: 8, gradient_accumulation_steps: 2, gradient_clipping: 0.5,
    zero_optimization: {stage: 2, reduce_bucket_size: 'auto'},
    optimizer: {type: 'Adam', params: {lr: 0.25, bias_correction: false}}})");
  GateFile gate = read(text());
  EXPECT_EQ(gate.parallel.form(), "zero2");
  EXPECT_EQ(gate.data.batch, 8);
  EXPECT_EQ(gate.train.micro_batches, 2);
  EXPECT_EQ(gate.train.clip_grad_norm, 0.5);
  EXPECT_EQ(gate.parallel.zero->config.zero_optimization.reduce_bucket_size, 16);
  const AdamSpec& adam = std::get<AdamSpec>(gate.train.optimizer);
  EXPECT_EQ(adam.options.lr, 0.25);
  EXPECT_FALSE(adam.options.bias_correction);
  EXPECT_EQ(adam.decay, optim::WeightDecay::decoupled);
  GateFile again = read(explain(gate));
  EXPECT_EQ(explain(again), explain(gate));
  EXPECT_EQ(std::get<AdamSpec>(again.train.optimizer).options.lr, 0.25);
}

// The run has the bits of one device with the file's optimizer, too.
TEST_F(GateZeroFile, TrainsAsOneDevice) {
  for (int stage : {1, 3}) {
    write(fmt::format(R"({{train_batch_size: 4, zero_optimization: {{stage: {}}},
      optimizer: {{type: 'AdamW', params: {{torch_adam: true, amsgrad: true}}}}}})",
                      stage));
    GateResult result = run_gate(read(text("", "", "same_as = [\"single_device\"]")));
    EXPECT_EQ(result.failed(), 0) << testing::text_of(result);
  }
}

// If this fails, the run or its one device isn't under the file's autocast, or they differ in what
// they round.
TEST_F(GateZeroFile, TrainsUnderAutocastAsOneDevice) {
  auto losses = [&](int stage, int accumulation, const char* dtype) {
    write(fmt::format(R"({{train_batch_size: 8, gradient_accumulation_steps: {},
      zero_optimization: {{stage: {}}}, torch_autocast: {{enabled: true{}}}}})",
                      accumulation, stage, dtype));
    GateResult result =
        run_gate(read(text("", "", "same_as = [\"single_device\"]\nschedules = 2")));
    EXPECT_EQ(result.failed(), 0) << testing::text_of(result);
    return result.losses;
  };
  for (int stage : {0, 1, 2, 3})
    for (int accumulation : {1, 2}) {
      std::vector<double> lower = losses(stage, accumulation, ", dtype: 'bfloat16'");
      EXPECT_EQ(losses(stage, accumulation, ""), lower);
      EXPECT_NE(losses(stage, accumulation, ", dtype: 'fp32'"), lower);
    }
}

TEST_F(GateZeroFile, MustNotContradictTheGate) {
  write(R"({"train_batch_size": 8, "zero_optimization": {"stage": 2}})");
  EXPECT_EQ(read(text("batch = 8")).data.batch, 8);
  expect_zero_file_refused(text("batch = 4"), "key 'data.batch': expected 8 as in the file");
  expect_zero_file_refused(text("", "micro_batches = 2"), "key 'train.micro_batches': expected 1");
  expect_zero_file_refused(text("", "clip_grad_norm = 2.0"), "key 'train.clip_grad_norm'");
  write(R"({"train_batch_size": 8, "optimizer": {"type": "SGD"}})");
  expect_zero_file_refused(text("", "optimizer = { kind = \"sgd\" }"), "key 'train.optimizer'");
}

TEST_F(GateZeroFile, RefusesWhatAGateCantTrain) {
  auto refuses = [&](const std::string& keys, const std::string& phrase) {
    write("{train_batch_size: 8, " + keys + "}");
    expect_zero_file_refused(text(), phrase);
  };
  refuses("zero_optimization: {stage: 7}", "key 'parallel.zero': expected a DeepSpeed config");
  refuses("scheduler: {type: 'WarmupLR'}", "a scheduler");
  refuses("fp16: {enabled: true}", "fp16.enabled");
  refuses("torch_autocast: {enabled: true, dtype: 'fp16'}", "torch_autocast in float16");
  refuses("bf16: {enabled: true}", "a file that trains float32");
  refuses("gradient_allreduce_op: 'sum'", "gradient_allreduce_op");
  refuses("managed_gradient_accumulation: false", "managed_gradient_accumulation");
  refuses("optimizer: {type: 'Lion'}", "Adam, AdamW or SGD");
  refuses("train_micro_batch_size_per_gpu: 3", "train_batch_size");
  std::filesystem::remove(folder_.path() / "ds_config.json");
  expect_zero_file_refused(text(), "which can't be read");
}

TEST_F(GateZeroFile, IsForTheGatesOwnRun) {
  write(R"({"train_batch_size": 8})");
  expect_zero_file_refused(
      text("", "", "same_as = [{ mesh = [2], parallel = { zero = \"ds_config.json\" } }]"),
      "zero as a table");
}

}  // namespace
}  // namespace simmesh
