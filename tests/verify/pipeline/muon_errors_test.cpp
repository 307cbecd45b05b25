#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// If a check never fires, an error at another place, or of another class, passes.
TEST(VerifyMuonErrors, ComparesWhereAndWhat) {
  json refused = pipeline_case("muon_errors.jsonl", [](const json& value) {
    return value["raises"].is_object() && value["raises"]["at"] == "step";
  });
  expect_passes(refused);
  expect_fails(refused, "/raises/at", "construct", "place of the error: expected construct");
  json sparse = pipeline_case("muon_errors.jsonl",
                              [](const json& value) { return value.value("how", "") == "sparse"; });
  expect_passes(sparse);
  expect_fails(sparse, "/how", "tensor_lr", "expected RuntimeError, got no error");
}

}  // namespace
}  // namespace simmesh
