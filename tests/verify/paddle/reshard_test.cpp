#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json reshard_case(const std::string& function) {
  return testing::first_with("../paddle/reshard.jsonl", [&](const json& each) {
    return each["function"] == function && !each.contains("error");
  });
}

json refused_reshard() {
  return testing::first_with("../paddle/reshard.jsonl",
                             [](const json& each) { return each.contains("error"); });
}

// One case of each function, so that each runs in every build.
TEST(VerifyPaddleReshard, PassesACaseOfEachFunction) {
  for (const char* function : {"SToRReshard",
                               "SToPReshard",
                               "RToSReshard",
                               "RToPReshard",
                               "PToRReshard",
                               "PToSReshard",
                               "SToSReshard",
                               "SToRReshardCrossMesh",
                               "SToPReshardCrossMesh",
                               "RToSReshardCrossMesh",
                               "RToPReshardCrossMesh",
                               "PToRReshardCrossMesh",
                               "PToSReshardCrossMesh",
                               "SToSReshardCrossMesh",
                               "XToRShrinkReshard",
                               "RToXExpandReshard",
                               "SameStatusReshard",
                               "SameNdMeshReshard",
                               "CrossNdMeshReshard",
                               "GlobalToSubMeshReshardFunction",
                               "SubMeshToGlobalReshardFunction"})
    testing::expect_passes(reshard_case(function));
  testing::expect_passes(refused_reshard());
}

TEST(VerifyPaddleReshard, NamesWhatDiffers) {
  constexpr const char* no_hash = "0000000000000000";
  json value = reshard_case("SToRReshard");
  testing::expect_fails(value, "/function", "SToPReshard", "function: expected SToPReshard");
  testing::expect_fails(value, "/function", nullptr, "function: expected none");
  testing::expect_fails(value, "/before/0/hash", no_hash, "rank 0 before: bits");
  testing::expect_fails(value, "/after/1/hash", no_hash, "rank 1 after: bits");
  testing::expect_fails(value, "/after/1/shape", json::array({99}), "rank 1 after: shape");
  testing::expect_fails(value, "/after/0", nullptr, "rank 0 after: expected no piece");
  testing::expect_fails(value, "/after/3", value["after"][0], "rank 3 after: expected a piece");
}

TEST(VerifyPaddleReshard, NamesWhatIsRefusedOtherwise) {
  json value = refused_reshard();
  testing::expect_fails(value, "/error/error", "KeyError", "expected a KeyError");
  testing::expect_fails(value, "/error/message_contains", "no such words", "no such words");
  value["to"] = value["from"];
  value.erase("to_mesh");
  EXPECT_TRUE(testing::verify_value(value).failed());
}

TEST(VerifyPaddleReshard, RejectsMalformedFields) {
  json value = reshard_case("SToRReshard");
  testing::expect_bad(value, "/to", json::array(), "one placement a mesh dim");
  testing::expect_bad(value, "/to", json::array({"S(9)"}), "shards of the tensor's dims");
  testing::expect_bad(value, "/mesh/shape", json::array({99}), "a mesh of ranks of the world");
}

TEST(VerifyPaddleShardTensor, NamesWhatDiffers) {
  json value = testing::first_with("../paddle/reshard.jsonl", [](const json& each) {
    return each["kind"] == "paddle_shard_tensor";
  });
  testing::expect_passes(value);
  testing::expect_fails(value, "/after/0/hash", "0000000000000000", "rank 0 after: bits");
}

}  // namespace
}  // namespace simmesh
