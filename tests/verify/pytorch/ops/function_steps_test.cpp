#include "verify/pytorch/ops/function_steps.h"

#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json a_case_of_steps() {
  return testing::first_with("../pytorch_ops/op.jsonl",
                             [](const json& each) { return each["id"] == "op/linear/2150.14"; });
}

// A step that takes what nobody gave isn't what PyTorch ran.
TEST(FunctionSteps, FollowFromOneAnother) {
  json value = a_case_of_steps();
  testing::expect_passes(value);
  testing::expect_fails(value, "/steps/1/in/0/0", "P(max)",
                        "steps.1.in: expected an input or the result of a step, got P(max)");
  testing::expect_fails(value, "/outputs/0/placements/0", "P(sum)",
                        "steps: expected one that gives P(sum), the placements of a result");
}

TEST(FunctionSteps, HavePlacementsOfEachTensor) {
  json value = a_case_of_steps();
  testing::expect_bad(value, "/steps/1/used", json::array({json::array({"R"})}),
                      "placements of the tensors of 'in'");
  testing::expect_bad(value, "/steps/1/in/0", json::array({"R", "R"}), "each of 1 mesh dims");
  testing::expect_bad(value, "/steps/1/used/0", nullptr, "placements of the tensors of 'in'");
  testing::expect_bad(value, "/steps/0/op", "t", "an operator of PyTorch");
}

TEST(FunctionSteps, KnowViews) {
  FunctionStep step{.op = {"_unsafe_view", "default"}, .given = {}, .used = {}, .outputs = {}};
  EXPECT_TRUE(step.is_view());
  step.op.name = "mm";
  EXPECT_FALSE(step.is_view());
  EXPECT_FALSE(step.redistributes());
  step.used.emplace_back(Placements{Replicate()});
  EXPECT_TRUE(step.redistributes());
}

}  // namespace
}  // namespace simmesh
