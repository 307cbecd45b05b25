#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// A check that never fires would let a wrong result pass as right.
TEST(VerifyPipelineAction, ComparesAllOfAnAction) {
  json both = pipeline_case("actions.jsonl", [](const json& value) {
    return value.contains("parsed") && value["parsed"].is_object() &&
           value["parsed"]["parts"].is_array();
  });
  expect_passes(both);
  expect_fails(both, "/parsed/parts/0/stage", 77, "parsed: expected");
  expect_fails(both, "/printed", "0F0", "printed: expected 0F0");
  expect_fails(both, "/compute", false, "compute: expected false");
  expect_fails(both, "/text", "", "idle: expected false");
  json refused =
      pipeline_case("actions.jsonl", [](const json& value) { return value.contains("raises"); });
  expect_passes(refused);
  expect_fails(refused, "/raises/type", "ValueError", "expected ValueError, got RuntimeError");
  expect_fails(refused, "/raises/words", {"xyzzy"}, "expected 'xyzzy' in the message");
  expect_fails(refused, "/text", "0F0", "expected RuntimeError, got no error");
}

}  // namespace
}  // namespace simmesh
