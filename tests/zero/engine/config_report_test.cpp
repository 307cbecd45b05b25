#include "zero/engine/config_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"
#include "zero/config/hjson.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;
using ::testing::HasSubstr;

ConfigReport report_of(const std::string& text, std::optional<std::int64_t> parameters = {}) {
  return report_config({.config = parse_hjson(text), .ranks = 8, .parameters = parameters});
}

const ConfigLine& line_of(const ConfigReport& report, const std::string& key) {
  for (const ConfigLine& line : report.lines)
    if (line.key == key) return line;
  ADD_FAILURE() << "no line for " << key;
  static const ConfigLine none;
  return none;
}

// If this fails, the report shows another value than the engine uses.
TEST(ConfigReport, ShowsWhatHolds) {
  ConfigReport report = report_of(R"({train_micro_batch_size_per_gpu: 2,
    gradient_accumulation_steps: 4, bfloat16: {enabled: true}, wandb: {}, my_key: 1,
    zero_optimization: {stage: 3, stage3_prefetch_bucket_size: 1e6}})");
  EXPECT_EQ(report.sizes.train_batch_size, 64);
  EXPECT_EQ(line_of(report, "train_batch_size").value.text(), "64");
  EXPECT_FALSE(line_of(report, "train_batch_size").is_given);
  EXPECT_TRUE(line_of(report, "zero_optimization.prefetch_bucket_size").is_given);
  EXPECT_TRUE(line_of(report, "bf16.enabled").is_given);
  EXPECT_EQ(line_of(report, "zero_optimization.overlap_comm").value.text(), "true");
  EXPECT_EQ(line_of(report, "gradient_clipping").value.text(), "1.0");
  EXPECT_EQ(report.idle, std::vector<std::string>{"wandb"});
  EXPECT_EQ(report.unknown, std::vector<std::string>{"my_key"});
  std::string text = report.to_text();
  EXPECT_THAT(text, HasSubstr("train_batch_size 64 = train_micro_batch_size_per_gpu 2 * "
                              "gradient_accumulation_steps 4 * 8 ranks\n"));
  EXPECT_THAT(text, HasSubstr("gradient_clipping = 1.0 (default)\n"));
  EXPECT_THAT(text, HasSubstr("without effect here: wandb\nunknown to DeepSpeed: my_key\n"));
  EXPECT_EQ(report.to_json().find("keys")->get<JsonValue::List>()->size(), report.lines.size());
}

// If this fails, a rate that the file gives both halves of Muon looks like a default.
TEST(ConfigReport, ARateOfBothHalvesIsGiven) {
  ConfigReport report =
      report_of("{train_batch_size: 8, optimizer: {type: 'Muon', params: {lr: 0.5}}}");
  EXPECT_TRUE(line_of(report, "optimizer.params.adam_lr").is_given);
  EXPECT_EQ(line_of(report, "optimizer.params.adam_lr").value.text(), "0.5");
  EXPECT_FALSE(line_of(report, "optimizer.params.momentum").is_given);
}

// If this fails, a file passes that stops when its engine is made.
TEST(ConfigReport, RaisesWhatTheEngineRaises) {
  auto refused = [](const std::string& text, ErrorKind kind, const std::string& phrase) {
    expect_error([&] { report_of(text); }, kind, phrase);
  };
  refused("{train_batch_size: 12}", ErrorKind::assertion_error, "got 12");
  refused("{train_batch_size: 8, zero_optimization: {stage: 2}, prescale_gradients: true}",
          ErrorKind::assertion_error, "prescale_gradients");
  refused("{train_batch_size: 8, zero_optimization: {stage: 1}, optimizer: {type: 'SGD'}}",
          ErrorKind::assertion_error, "zero_allow_untested_optimizer");
  refused("{train_batch_size: 8, data_types: {param_dtype: 'bf16'}}", ErrorKind::assertion_error,
          "data_types.param_dtype");
  refused("{train_batch_size: 8, tensor_parallel: {autotp_size: 2}}", ErrorKind::value_error,
          "simmesh has no AutoTP");
}

TEST(ReadAuto, ReadsValuesByName) {
  AutoValues autos;
  for (const char* assignment : {"hidden_size=4096", "betas=0.9,0.5", "bf16=true", "lr=1e-4"})
    read_auto(assignment, autos);
  EXPECT_EQ(autos.hidden_size, 4096);
  EXPECT_EQ(autos.betas->at(1), 0.5);
  EXPECT_EQ(autos.bf16, true);
  EXPECT_EQ(autos.lr, 1e-4);
  for (const char* assignment : {"hidden=4", "hidden_size", "hidden_size=", "lr=fast"})
    expect_error([&] { read_auto(assignment, autos); }, ErrorKind::value_error, "expected");
}

}  // namespace
}  // namespace simmesh::zero
