#include "verify/pipeline/train_case.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_error;
using testing::pipeline_case;

PipelineCase read(const json& value) {
  return read_pipeline_case(RecordedCase::parse(value.dump(), {.file = "a"}));
}

// If this fails, a case runs another pipeline than it describes.
TEST(PipelineCase, ReadsStagesAndSchedules) {
  json value = pipeline_case("train_exact.jsonl", [](const json&) { return true; });
  PipelineCase plan = read(value);
  EXPECT_EQ(plan.stages.size(), value["stages"].size());
  EXPECT_EQ(plan.microbatches, value["schedule"]["microbatches"].get<std::int64_t>());
  EXPECT_EQ(plan.program.size(), value["program"].size());
  EXPECT_EQ(plan.stages_on(0).front(), 0);
  value["mesh"]["shape"] = {plan.pipeline_ranks, 7};
  expect_error<BadCase>([&] { read(value); }, ErrorKind::value_error, "a mesh of all ranks");
  value["mesh"]["shape"] = {plan.pipeline_ranks};
  value["stage_index"] = {{"x", 1}};
  expect_error<BadCase>([&] { read(value); }, ErrorKind::value_error, "named by stages");
}

}  // namespace
}  // namespace simmesh
