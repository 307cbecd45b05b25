#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// If a check never fires, an error on another rank, of another class or at another place passes.
TEST(VerifyPipelineErrors, ComparesWhichRankRaisesWhat) {
  json waits = pipeline_case("errors.jsonl", [](const json& value) {
    const json& ranks = value["by_rank"];
    return ranks.size() == 2 && ranks[0] == "waits" && ranks[1].is_object() &&
           ranks[1]["type"] == "ValueError" && value["program"].size() == 1;
  });
  expect_passes(waits);
  expect_fails(waits, "/by_rank/1/type", "RuntimeError", "rank 1: expected RuntimeError");
  expect_fails(waits, "/by_rank/1/at", "step 9", "rank 1: at: expected step 9");
  expect_fails(waits, "/by_rank/1", json(), "rank 1: expected no error");
  expect_fails(waits, "/by_rank/0", json(), "rank 0: expected no error, got a rank that waits");
}

// If this fails, what the recorded system can't do is demanded of ours.
TEST(VerifyPipelineErrors, RunsDisputedCasesToTheirEnd) {
  json disputed = pipeline_case(
      "disputed.jsonl", [](const json& value) { return value["kind"] == "pipeline_errors"; });
  expect_passes(disputed);
  expect_fails(disputed, "/schedule/microbatches", 1000, "expected a run without errors");
}

}  // namespace
}  // namespace simmesh
