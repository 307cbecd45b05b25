#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json fallback_case(const std::string& what, bool is_refused) {
  return testing::first_with("../paddle/fallback.jsonl", [&](const json& each) {
    bool is_wanted = each["what"] == what && each.contains("error") == is_refused;
    return is_wanted && (what == "optimizer_state" || !each["warnings"].empty());
  });
}

TEST(VerifyPaddleFallback, NamesWhatDiffersInAnOptimizerState) {
  json value = fallback_case("optimizer_state", false);
  testing::expect_passes(value);
  testing::expect_fails(value, "/chosen/0", "P(product)", "chosen: expected");
  testing::expect_bad(value, "/placements", json::array(), "one placement a mesh dim");
}

TEST(VerifyPaddleFallback, NamesAnotherRefusal) {
  json value = fallback_case("optimizer_state", true);
  testing::expect_passes(value);
  testing::expect_fails(value, "/error/error", "KeyError", "expected a KeyError");
  testing::expect_fails(value, "/error/message_contains", "no such words", "no such words");
}

TEST(VerifyPaddleFallback, NamesWhatDiffersInAMeshDim) {
  json value = fallback_case("one_mesh_dim", false);
  testing::expect_passes(value);
  testing::expect_fails(value, "/dims_mapping/0", 9, "dims_mapping: expected");
  testing::expect_fails(value, "/warnings/0/shards", 7, "warnings: expected");
  testing::expect_bad(value, "/multi_dims_mapping/0", json::array({0, 0}), "at most once");
}

}  // namespace
}  // namespace simmesh
