#include "verify/pytorch/ops/recorded_plan.h"

#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json case_of(const char* id) {
  return testing::first_with("../pytorch_ops/op.jsonl",
                             [&](const json& value) { return value["id"] == id; });
}

// A case that passes as cheaper must still have the results of PyTorch's own plan.
TEST(RecordedPlan, IsComparedWhereOursIsCheaper) {
  json value = case_of("op/cross/2150.0");
  CaseReport report = testing::verify_value(value);
  EXPECT_FALSE(report.failed());
  ASSERT_TRUE(report.cheaper());
  testing::expect_fails(value, "/outputs/0/hash/0", "0000000000000000", "on [R,R; R,R]: rank 0");
  testing::expect_fails(value, "/outputs/0/placements/0", "S(0)", "on [R,R; R,R]: rank 0");
  testing::expect_fails(value, "/comm/all_gather", 7, "on [R,R; R,R]: rank 0: collectives");
}

// A made-up plan that costs more excuses nothing.
TEST(RecordedPlan, ExcusesNoOtherResult) {
  json value = testing::first_with("../pytorch_ops/op.jsonl", [](const json& each) {
    return each["torch"] == "torch.nn.functional.embedding" && each["comm"].empty() &&
           each["outputs"][0].contains("hash");
  });
  testing::expect_passes(value);
  value["used"] = json::array({json::array(), json::array()});
  for (std::size_t i = 0; i < value["mesh"]["shape"].size(); ++i)
    for (json& placements : value["used"]) placements.push_back("R");
  value["outputs"][0]["hash"][0] = "0000000000000000";
  EXPECT_TRUE(testing::verify_value(value).failed());
}

TEST(RecordedPlan, NamesAnOperatorThatTheFunctionCannotBe) {
  json value = case_of("op/cross/2150.0");
  testing::expect_fails(value, "/aten", "aten.abs.default", "aten: expected an operator");
}

}  // namespace
}  // namespace simmesh
