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
  constexpr const char* no_hash = "0000000000000000";
  json value = at_stage_0("float32");
  testing::expect_fails(value, "/expect/steps/0/loss/0/1", 77, "rank 1: loss of micro-batch 0");
  testing::expect_fails(value, "/expect/steps/0/params_hash", no_hash,
                        "step 0: rank 1: parameters");
  testing::expect_fails(value, "/expect/steps/0/skipped", true, "step 0: rank 0: skipped");
  testing::expect_fails(value, "/expect/params/a.bias/hash", no_hash, "a.bias: hash");
  testing::expect_fails(value, "/expect/params/a.bias/values/0", 77, "a.bias[0]");
  testing::expect_fails(value, "/stage", 1, "has a norm");
  json wide = at_stage_0("bfloat16");
  testing::expect_fails(wide, "/expect/steps/0/grad_norm", 77, "step 0: rank 0: norm");
}

TEST(VerifyZeroTrain, NamesWordsThatItDoesNotKnow) {
  json value = at_stage_0("float32");
  testing::expect_fails(value, "/layers/0/op", "conv", "expected linear, embedding or relu");
  testing::expect_fails(value, "/optimizer/type", "Lamb", "expected SGD, Adam or AdamW");
  testing::expect_fails(value, "/compare/mode", "close", "bits, params_bits or tolerance");
  testing::expect_fails(value, "/zero/bucket", 1, "zero.bucket' is not known");
}

// A record whose hash no run can have must at least agree with itself.
TEST(VerifyZeroTrain, HashesAreThoseOfTheValues) {
  json value = testing::first_with("../zero/train.jsonl", [](const json& each) {
    return each["stage"] == 0 && each["compare"]["mode"] == "tolerance";
  });
  testing::expect_passes(value);
  std::string first = value["expect"]["params"].begin().key();
  testing::expect_fails(value, ("/expect/params/" + first + "/hash").c_str(), "0000000000000000",
                        first + ": hash");
  testing::expect_fails(value, ("/expect/params/" + first + "/sum").c_str(), 1e6, first + ": sum");
  std::size_t last = value["expect"]["steps"].size() - 1;
  testing::expect_fails(value, ("/expect/steps/" + std::to_string(last) + "/params_hash").c_str(),
                        "0000000000000000", "hash of the recorded parameters");
}

// A master copy that is left out would never be compared.
TEST(VerifyZeroTrain, RequiresMasterCopies) {
  json value = testing::first_with("../zero/train.jsonl", [](const json& each) {
    return each["stage"] == 1 && each["dtype"] == "bfloat16";
  });
  testing::expect_passes(value);
  value["expect"]["params"].begin()->erase("master_values");
  EXPECT_THAT(testing::verify_value(value).mismatches(),
              ::testing::Contains(::testing::HasSubstr("has a master copy: expected")));
}

// Where the recorded system is wrong, the correct value decides.
TEST(VerifyZeroTrain, DisputedCasesPassByWhatIsRight) {
  json value = testing::first_with("../zero/disputed.jsonl",
                                   [](const json& each) { return each["stage"] == 0; });
  testing::expect_passes(value);
  value.erase("correct_params");
  EXPECT_TRUE(testing::verify_value(value).failed());
}

TEST(VerifyZeroTrain, BadCasesSayWhere) {
  json value = at_stage_0("float32");
  testing::expect_bad(value, "/input_factor", json::array(), "one factor a step");
  testing::expect_bad(value, "/init/0/trainable", false, "what the layers say");
  testing::expect_bad(value, "/fp16", json{{"loss_scale", 128}}, "fp16 for the dtype float16");
  testing::expect_bad(value, "/zero/reduce_bucket_size", 0,
                      "reduce_bucket_size: expected a number");
  testing::expect_bad(value, "/expect/steps/0/loss/0", json::array({1.0}), "one loss for each of");
}

}  // namespace
}  // namespace simmesh
