#include "tests/verify/changed_case.h"

// The disputed cases of ops are those in which PyTorch is wrong: it gives another result than the
// op on whole tensors, or none. docs/differences.md lists them.
namespace simmesh {
namespace {

using nlohmann::json;

// A case without what was recorded, as one that passes beyond a refusal: by the result of the call
// on whole tensors.
json asking_for_the_right_result(json value) {
  for (const char* name : {"outputs", "output_placements", "comm", "aten", "used", "grads",
                           "comm_backward", "error_in", "rounds"})
    value.erase(name);
  value["steps"] = json::array();
  value["error"] = "NotImplementedError";
  value["message_contains"] = "does not have a sharding strategy registered";
  // Sums of parts are rounded on the way.
  bool rounds =
      value["op"] == "mse_loss" || value["op"] == "rms_norm" || value["op"] == "logsumexp";
  if (rounds) value["rtol"] = 1e-12;
  return value;
}

TEST(KnownOpFaults, HaveTheResultOfTheOpOnWholeTensors) {
  int count = 0;
  for (const json& value : testing::recorded_values("../pytorch_ops/disputed.jsonl")) {
    if (value["kind"] != "op" && value["kind"] != "op_grad") continue;
    CaseReport report = testing::verify_value(asking_for_the_right_result(value));
    EXPECT_THAT(report.mismatches(), ::testing::IsEmpty()) << value["id"];
    EXPECT_TRUE(report.is_beyond()) << value["id"];
    ++count;
  }
  EXPECT_GT(count, 40);
}

}  // namespace
}  // namespace simmesh
