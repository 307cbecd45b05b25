#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// A check that never fires would let a wrong result pass as right.
TEST(VerifyPipelineMap, ComparesRanksAndRounds) {
  json map = pipeline_case("maps.jsonl", [](const json& value) {
    return value.contains("stage_to_rank") && value["ranks"] == 3;
  });
  expect_passes(map);
  expect_fails(map, "/stage_to_rank/0", 2, "ranks of the stages: expected");
  expect_fails(map, "/rank_to_stages/0/0", 9, "stages of rank 0");
  expect_fails(map, "/preconnect_rounds/0/0/1", 7, "rounds of connections");
  expect_fails(map, "/directed_rounds/0/0/1", 7, "rounds by direction");
  expect_fails(map, "/ranks", 2, "expected");
}

}  // namespace
}  // namespace simmesh
