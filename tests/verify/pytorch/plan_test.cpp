#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json a_plan_case() {
  return testing::first_with("plan.jsonl", [](const json& each) {
    return each["steps"].size() == 2 && each["planner"] == "both" && each.contains("step_costs");
  });
}

TEST(VerifyPlan, AgreesWithAllRecordedCases) {
  for (const json& value : testing::recorded_values("plan.jsonl")) testing::expect_passes(value);
}

// Each check that never fires would let another plan pass as PyTorch's.
TEST(VerifyPlan, NamesWhatDiffers) {
  testing::expect_fails(a_plan_case(), "/steps/0/mesh_dims", json::array({7}), "step 0: mesh_dims");
  testing::expect_fails(a_plan_case(), "/steps/0/from", "MaskP",
                        "greedy: step 0: from: expected MaskP");
  testing::expect_fails(a_plan_case(), "/steps/1/to", "MaskP", "graph: step 1: to: expected MaskP");
  testing::expect_fails(a_plan_case(), "/steps/1/after/0", "MaskP", "step 1: after");
  testing::expect_fails(a_plan_case(), "/steps/0/merged", true, "step 0: merged");
  testing::expect_fails(a_plan_case(), "/steps/0/divide_by", 2, "step 0: divide_by: expected 2");
  testing::expect_fails(a_plan_case(), "/steps/0/colour", 2, "colour' is not known");
  testing::expect_fails(a_plan_case(), "/planner", "fastest", "expected greedy, graph or both");
  testing::expect_fails(a_plan_case(), "/steps", json::array(),
                        "number of steps: expected 0, got 2");
  testing::expect_fails(a_plan_case(), "/cost", 1.5, "greedy: cost: expected 1.5");
  testing::expect_fails(a_plan_case(), "/cost", "inf", "graph: cost: expected inf");
  testing::expect_fails(a_plan_case(), "/step_costs/1", 1.5, "cost of step 1: expected 1.5");
}

TEST(VerifyPlan, RejectsMalformedFields) {
  testing::expect_bad(a_plan_case(), "/cost", "dear", "a number, inf, -inf or nan");
  testing::expect_bad(a_plan_case(), "/from/0", "X", "field 'from.0': expected R, S(d)");
  testing::expect_bad(a_plan_case(), "/devices_per_host", 0, "devices_per_host");
}

// A list of step costs that doesn't fit the plan says something that isn't so.
TEST(VerifyPlan, NoticesMissingStepCosts) {
  testing::expect_fails(a_plan_case(), "/step_costs", json::array({1.5}), "number of step costs");
}

}  // namespace
}  // namespace simmesh
