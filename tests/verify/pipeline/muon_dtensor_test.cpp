#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_bad;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

json gathering_case() {
  return pipeline_case("muon_dtensor.jsonl", [](const json& value) {
    return value.contains("result") &&
           value["result"]["collectives"][0].contains("all_gather_into_tensor") &&
           value["result"]["param"].contains("values");
  });
}

// If a check never fires, Muon on a mesh passes with other collectives, placements or values.
TEST(VerifyMuonDtensor, ComparesWhatEachRankSees) {
  json good = gathering_case();
  expect_passes(good);
  expect_fails(good, "/result/placements_after", {"P(max)"}, "placements: expected");
  expect_fails(good, "/result/momentum_placements", {"R"}, "momentum placements: expected");
  expect_fails(good, "/result/momentum/hash", "0000000000000000", "momentum: expected");
  expect_fails(good, "/result/param/values/0", 99.5, "param: element 0: expected 99.5");
  expect_fails(good, "/result/collectives/0/all_gather_into_tensor", 99, "step 0: collectives");
  expect_fails(good, "/result/collectives/0/all_to_all_single", 1, "step 0: collectives");
  expect_fails(good, "/steps", 3, "momentum: expected");
  expect_bad(good, "/param/shape", {1 << 10, 1 << 10}, "elements");
  expect_bad(good, "/world", 4096, "ranks");
}

// If this fails, a step that PyTorch refuses by accident is refused here too.
TEST(VerifyMuonDtensor, MakesTheStepsThatPyTorchRefuses) {
  json disputed = pipeline_case("disputed.jsonl", [](const json& value) {
    return value["kind"] == "muon_dtensor" && value.contains("raises");
  });
  expect_fails(disputed, "/why", "x", "expected RuntimeError");
}

}  // namespace
}  // namespace simmesh
