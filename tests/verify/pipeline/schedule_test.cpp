#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_bad;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// A check that never fires would let a wrong result pass as right.
TEST(VerifyPipelineSchedule, ComparesOrdersAndFigures) {
  json rows = pipeline_case("schedules.jsonl", [](const json& value) {
    return value.contains("spaced") && value.contains("merge_bw");
  });
  expect_passes(rows);
  const char* zeros = "0000000000000000";
  expect_fails(rows, "/passes/unshard/hash", zeros, "unshard: hash");
  expect_fails(rows, "/passes/compute/actions/0", 999, "compute: actions");
  expect_fails(rows, "/idle/0", 999, "idle slots");
  expect_fails(rows, "/peak_by_stage/0", 999, "peak by stage");
  expect_fails(rows, "/peak_by_rank/0", 999, "peak by rank");
  expect_fails(rows, "/merge_bw/hash", zeros, "merged");
  expect_fails(rows, "/spaced/slots/0", 999, "spaced: slots");
  expect_fails(rows, "/spaced/hash", zeros, "spaced: hash");
  expect_fails(rows, "/liveness/microbatch/hash", zeros, "liveness by microbatch: hash");
  expect_fails(rows, "/messages_in_order", false, "messages in order");
  expect_fails(rows, "/stage_to_rank/0", 9, "ranks of the stages");
  json run = pipeline_case("schedules.jsonl", [](const json& value) {
    return value.contains("executed") && value.contains("simulated");
  });
  expect_passes(run);
  expect_fails(run, "/executed/0", "loss", "executed: expected [\"loss\"");
  expect_fails(run, "/simulated/steps", 999, "simulated: steps");
  expect_fails(run, "/simulated/hash", zeros, "simulated: hash");
  expect_bad(rows, "/microbatches", 1 << 14, "stages times micro-batches");
}

// A disputed case of training holds what one device gets, or must run to its end: it passes.
// Orders, times and steps that fail by accident are the recorded system's, and must not be met.
TEST(VerifyPipeline, FailsTheDisputedCasesButThoseThatSayWhatIsRight) {
  for (const json& value : testing::recorded_values("../pipeline/disputed.jsonl")) {
    bool says_what_is_right = value["kind"].get<std::string>().rfind("pipeline_train", 0) == 0 ||
                              value["kind"] == "pipeline_errors";
    EXPECT_EQ(testing::verify_value(value).mismatches().empty(), says_what_is_right) << value["id"];
  }
}

}  // namespace
}  // namespace simmesh
