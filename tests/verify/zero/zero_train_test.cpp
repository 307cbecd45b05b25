#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json at_stage_0(const char* dtype) {
  return testing::first_with("../zero/train.jsonl", [dtype](const json& each) {
    return each["stage"] == 0 && each["dtype"] == dtype && each["compare"]["mode"] == "bits";
  });
}

TEST(VerifyZeroTrain, PassesRecordedCases) {
  for (const char* dtype : {"float32", "bfloat16"}) testing::expect_passes(at_stage_0(dtype));
}

// Each check that never fires would let a wrong training run pass as right.
TEST(VerifyZeroTrain, NamesWhatDiffers) {
  json value = at_stage_0("float32");
  testing::expect_fails(value, "/expect/steps/0/loss/0/1", 77, "loss of micro-batch 0, rank 1");
  testing::expect_fails(value, "/expect/steps/0/params_hash", "00", "step 0: parameters");
  testing::expect_fails(value, "/expect/steps/0/skipped", true, "step 0: skipped");
  testing::expect_fails(value, "/expect/params/a.bias/hash", "00", "a.bias: hash");
  testing::expect_fails(value, "/expect/params/a.bias/values/0", 77, "a.bias[0]");
  testing::expect_fails(value, "/stage", 1, "expected stage 0");
  json wide = at_stage_0("bfloat16");
  testing::expect_fails(wide, "/expect/steps/0/grad_norm", 77, "step 0: norm");
}

TEST(VerifyZeroTrain, BadCasesSayWhere) {
  json value = at_stage_0("float32");
  testing::expect_bad(value, "/layers/0/op", "conv", "linear, embedding or relu");
  testing::expect_bad(value, "/optimizer/type", "Lamb", "SGD, Adam or AdamW");
  testing::expect_bad(value, "/compare/mode", "close", "bits, params_bits or tolerance");
  testing::expect_bad(value, "/input_factor", json::array(), "one factor a step");
}

}  // namespace
}  // namespace simmesh
