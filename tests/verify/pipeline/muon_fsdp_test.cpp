#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_bad;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

// If a check never fires, a training with other losses or parameters passes, on one device or on
// several.
TEST(VerifyMuonFsdp, ComparesBothRuns) {
  json good = pipeline_case("muon_fsdp.jsonl", [](const json&) { return true; });
  expect_passes(good);
  expect_fails(good, "/losses/1", 9.0, "rank 1: losses[1]: expected 9");
  expect_fails(good, "/one_device/losses/0", 9.0, "one device: losses[0]: expected 9");
  expect_fails(good, "/final/l0.weight/abs_sum", 99.0, "final l0.weight: abs_sum: expected 99");
  expect_fails(good, "/one_device/final/l0.weight/first", 9.0, "l0.weight: first: expected 9");
  expect_fails(good, "/steps", 3, "number of losses");
  expect_fails(good, "/muon/lr", 5.0, "final l0.weight");
  expect_bad(good, "/params/0/shape", {1, 1}, "the parameter l0.weight");
}

}  // namespace
}  // namespace simmesh
