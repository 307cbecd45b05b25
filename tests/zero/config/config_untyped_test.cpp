#include "zero/config/config_untyped.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

void expect_untyped_refused(const std::string& config, const std::string& phrase, ErrorKind kind) {
  expect_error([&] { check_untyped_sections(JsonValue::parse(config)); }, kind, phrase);
}

// If this fails, a file that stops DeepSpeed passes, or another class of error is raised.
TEST(UntypedSections, RaisesAsDeepSpeedsCodeDoes) {
  expect_untyped_refused(R"({"checkpoint": {"tag_validation": "no"}})", "checkpoint.tag_validation",
                         ErrorKind::value_error);
  expect_untyped_refused(R"({"checkpoint": {"writer": {"type": "slow"}}})",
                         "checkpoint.writer.type", ErrorKind::assertion_error);
  expect_untyped_refused(R"({"checkpoint": null})", "checkpoint", ErrorKind::attribute_error);
  expect_untyped_refused(R"({"optimizer": null})", "optimizer: expected an object",
                         ErrorKind::attribute_error);
  expect_untyped_refused(R"({"wall_clock_breakdown": "yes"})", "wall_clock_breakdown",
                         ErrorKind::type_error);
  expect_untyped_refused(R"({"sequence_parallel_size": 0})", "sequence_parallel_size",
                         ErrorKind::zero_division_error);
  expect_untyped_refused(R"({"aio": {"use_gds": true}})", "aio.use_gds",
                         ErrorKind::assertion_error);
  expect_untyped_refused(R"({"torch_autocast": {"dtype": "float8"}})", "torch_autocast.dtype",
                         ErrorKind::value_error);
  expect_untyped_refused(R"({"data_types": {"keep_in_fp32_modules": "all"}})",
                         "keep_in_fp32_modules", ErrorKind::value_error);
  expect_untyped_refused(
      R"({"data_efficiency": {"data_sampling": {"dynamic_batching": {"enabled": 1}}}})",
      "dynamic_batching.max_tokens", ErrorKind::assertion_error);
}

TEST(UntypedSections, LeavesAloneWhatDeepSpeedDoes) {
  check_untyped_sections(JsonValue::parse(R"({
    "steps_per_print": "many", "pipeline": {"stages": 2}, "activation_checkpointing": {"x": 1},
    "aio": null, "expert_parallel": null, "checkpoint": {"tag_validation": "Fail", "writer": null},
    "flops_profiler": {"enabled": true, "other": 1}, "log_level": 3, "vocabulary_size": 7})"));
}

// DeepSpeed keeps such values as the file has them, so what Python can't compute with fails there.
TEST(ReadPlain, ConvertsNothing) {
  auto value = [](const char* text) { return JsonValue::parse(text); };
  std::optional<std::int64_t> count;
  read_plain({value("4.0"), "x"}, count);
  EXPECT_EQ(count, 4);
  read_plain({value("null"), "x"}, count);
  EXPECT_FALSE(count);
  for (const char* text : {"\"4\"", "[4]", "4.5"})
    expect_error(
        [&] {
          read_plain({value(text), "x"}, count);
        },
        ErrorKind::type_error, "x: expected an integer");
  std::optional<DType> dtype;
  read_plain({value("\"BF16\""), "x"}, dtype);
  EXPECT_EQ(dtype, DType::bfloat16);
  expect_error([&] { read_plain({value("\"half\""), "x"}, dtype); }, ErrorKind::value_error, "x:");
  expect_error([&] { read_plain({value("16"), "x"}, dtype); }, ErrorKind::attribute_error, "x:");
  bool flag = false;
  expect_error([&] { read_plain({value("\"no\""), "x"}, flag); }, ErrorKind::type_error, "x:");
  double number = 0;
  expect_error([&] { read_plain({value("\"1\""), "x"}, number); }, ErrorKind::type_error, "x:");
}

TEST(IsTruthy, GoesByPythonsRule) {
  for (const char* text : {"1", "-0.5", "\"no\"", "[0]", "{\"a\": null}", "true"})
    EXPECT_TRUE(is_truthy(JsonValue::parse(text))) << text;
  for (const char* text : {"0", "0.0", "\"\"", "[]", "{}", "false", "null"})
    EXPECT_FALSE(is_truthy(JsonValue::parse(text))) << text;
}

}  // namespace
}  // namespace simmesh::zero
