#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// A check that never fires would let a wrong result pass as right.
TEST(VerifyPipelineChunks, ComparesPieces) {
  json cut = pipeline_case("chunks.jsonl", [](const json& value) {
    return value.contains("result") && !value["args"].empty() && !value["kwargs"].empty();
  });
  expect_passes(cut);
  expect_fails(cut, "/result/0/args/0/hash", "0000000000000000", "chunk 0: argument 0");
  expect_fails(cut, "/result/0/kwargs/k0", {{"value", 1}}, "chunk 0: k0");
  expect_fails(cut, "/result", json::array(), "number of chunks");
  json join =
      pipeline_case("chunks.jsonl", [](const json& value) { return value.contains("joined"); });
  expect_passes(join);
  expect_fails(join, "/joined/shape", {7, 7, 7}, "joined: expected [7, 7, 7]");
}

}  // namespace
}  // namespace simmesh
