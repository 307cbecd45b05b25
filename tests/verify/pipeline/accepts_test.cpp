#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_bad;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// A check that never fires would let a wrong result pass as right.
TEST(VerifyPipelineAccepts, ComparesEachNumber) {
  json accepts = pipeline_case("accepts.jsonl", [](const json& value) {
    return value["schedule"] == "1F1B" && value["ranks"].get<int>() > 1;
  });
  expect_passes(accepts);
  expect_fails(accepts, "/by_microbatches/0", nullptr, "1 micro-batches: expected no error");
  expect_fails(accepts, "/by_microbatches/15", {{"type", "ValueError"}, {"words", {"a"}}},
               "16 micro-batches: expected ValueError, got no error");
  expect_bad(accepts, "/ranks", 1025, "ranks");
}

}  // namespace
}  // namespace simmesh
