#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json a_grad_case(const char* leaf) {
  return testing::first_with("grad.jsonl", [leaf](const json& each) {
    return each["leaf"] == leaf && each["end"] == "to_local" && !each["collectives"].empty();
  });
}

TEST(VerifyGrad, PassesRecordedCases) {
  for (const char* leaf : {"local", "dtensor"}) testing::expect_passes(a_grad_case(leaf));
}

// Each check that never fires would let a wrong gradient pass as right.
TEST(VerifyGrad, NamesWhatDiffers) {
  constexpr const char* no_hash = "0000000000000000";
  json value = a_grad_case("dtensor");
  testing::expect_fails(value, "/before/1/hash", no_hash, "rank 1 before: bits");
  testing::expect_fails(value, "/after/0/hash", no_hash, "rank 0 after: bits");
  testing::expect_fails(value, "/after/1/shape", json::array({99}), "rank 1 after: shape");
  testing::expect_fails(value, "/after/0", nullptr, "rank 0: is it in the mesh?");
  testing::expect_fails(value, "/grad_placements/0", "P(max)", "rank 0: placements");
  testing::expect_fails(value, "/collectives/all_to_all", 77, "rank 0: collectives");
  testing::expect_fails(value, "/leaf", "tree", "expected local or dtensor");
  for (const char* name : {"before", "after", "collectives", "grad_placements"}) value.erase(name);
  testing::expect_fails(value, "/error", {{"error", "ValueError"}, {"message_contains", "x"}},
                        "backward");
}

TEST(VerifyGrad, BadCasesSayWhere) {
  json value = a_grad_case("local");
  testing::expect_bad(value, "/grad_placements", json::array({"R"}), "grad_placements for a leaf");
  testing::expect_bad(value, "/end", 3, "field 'end'");
  testing::expect_bad(value, "/gradient/shape", json::array({1 << 30, 1 << 10}), "elements");
}

}  // namespace
}  // namespace simmesh
