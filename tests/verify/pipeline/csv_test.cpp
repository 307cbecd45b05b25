#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// A check that never fires would let a wrong result pass as right.
TEST(VerifyPipelineCsv, ComparesWhatRuns) {
  json csv = pipeline_case("csv.jsonl", [](const json& value) { return value.contains("final"); });
  expect_passes(csv);
  expect_fails(csv, "/final/0", "0F0", "rows: expected [\"0F0\"");
  expect_fails(csv, "/stage_to_rank", {5}, "ranks of the stages");
  expect_fails(csv, "/by_rank", {1}, "ranks with a row");
}

}  // namespace
}  // namespace simmesh
