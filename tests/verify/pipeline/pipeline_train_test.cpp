#include "tests/verify/pipeline/pipeline_cases.h"

namespace simmesh {
namespace {

using nlohmann::json;
using testing::expect_fails;
using testing::expect_passes;
using testing::pipeline_case;

json exact_case() {
  return pipeline_case("train_exact.jsonl", [](const json& value) {
    return value["program"][0].contains("losses") && value["program"][0].contains("grads") &&
           value["program"][0].contains("events");
  });
}

// If a check never fires, a pipeline that trains another model passes.
TEST(VerifyPipelineTrain, ComparesAllResults) {
  json exact = exact_case();
  expect_passes(exact);
  expect_fails(exact, "/program/0/losses/0", 12345.0, "losses[0]: expected 12345");
  expect_fails(exact, "/program/0/events/0/0", json::array({"loss", 7}), "event 0");
  expect_fails(exact, "/program/0/output/hash", "0000000000000000", "output of data rank 0: hash");
  expect_fails(exact, "/peak_states/0", 77, "peak states");
  std::string name = exact["final"].begin().key();
  expect_fails(exact, "/final/" + name + "/hash", "0000000000000000", "final values of " + name);
  expect_fails(exact, "/input/seed", 999, "step 0");
}

// If this fails, figures outside of the tolerance pass.
TEST(VerifyPipelineTrain, ComparesFiguresWithinTheTolerance) {
  json close = pipeline_case(
      "train.jsonl", [](const json& value) { return value["program"][0].contains("losses"); });
  expect_passes(close);
  double loss = close["program"][0]["losses"][0].get<double>();
  expect_fails(close, "/program/0/losses/0", loss + 1, "losses[0]");
}

// If this fails, a disputed case asks for what is wrong.
TEST(VerifyPipelineTrain, ComparesDisputedCasesWithOneDevice) {
  json disputed =
      pipeline_case("disputed.jsonl", [](const json& value) { return value.contains("correct"); });
  expect_passes(disputed);
  std::string name = disputed["correct"]["final"].begin().key();
  std::string field = disputed["kind"] == "pipeline_train" ? "/sum" : "/hash";
  json other = field == "/sum" ? json(1e9) : json("0000000000000000");
  expect_fails(disputed, "/correct/final/" + name + field, other, "final values of " + name);
}

}  // namespace
}  // namespace simmesh
