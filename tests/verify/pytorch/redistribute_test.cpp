#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json a_redistribute_case() {
  return testing::first_with("redistribute.jsonl", [](const json& each) {
    return each["planner"] == "both" && each.contains("after") && !each["steps"].empty() &&
           !each["collectives"].empty() && each["after"].size() == 4 &&
           each["tensor"]["shape"] == json::array({17, 5});
  });
}

json refused_case() {
  return testing::first_with("redistribute.jsonl",
                             [](const json& each) { return each.contains("error"); });
}

TEST(VerifyRedistribute, PassesRecordedCases) {
  testing::expect_passes(a_redistribute_case());
  testing::expect_passes(refused_case());
}

// Each check that never fires would let wrong bits pass as right.
TEST(VerifyRedistribute, NamesWhatDiffers) {
  constexpr const char* no_hash = "0000000000000000";
  json value = a_redistribute_case();
  testing::expect_fails(value, "/before/2/hash", no_hash, "greedy: rank 2 before: bits");
  testing::expect_fails(value, "/after/3/hash", no_hash, "greedy: rank 3 after: bits: expected 00");
  testing::expect_fails(value, "/after/3/shape", json::array({99}), "rank 3 after: shape");
  testing::expect_fails(value, "/after/3/dtype", "int64", "rank 3 after: dtype: expected int64");
  testing::expect_fails(value, "/after/1", nullptr, "rank 1: is it in the mesh?");
  testing::expect_fails(value, "/before/1", nullptr, "rank 1: is it in the mesh?");
  testing::expect_fails(value, "/collectives/all_to_all", 77, "rank 0: collectives");
  testing::expect_fails(value, "/collectives", json::object(), "rank 0: collectives");
  testing::expect_fails(value, "/steps/0/to", "MaskP", "step 0: to: expected MaskP");
  testing::expect_fails(value, "/mesh/colour", 1, "colour' is not known");
  testing::expect_fails(value, "/to/0", "P(bxor)", "greedy: rank 3: refused: ");
  testing::expect_fails(value, "/api", "global", "'global' is not known, expected local");
}

// A refusal that is another one, or none at all.
TEST(VerifyRedistribute, NamesWhatIsRefusedOtherwise) {
  json value = refused_case();
  testing::expect_fails(value, "/error/error", "KeyError", "rank 1: expected a KeyError");
  testing::expect_fails(value, "/before/0/hash", "0000000000000000", "rank 0 before: bits");
  testing::expect_fails(value, "/error/message_contains", "no such words", "no such words");
  value["to"] = value["from"];
  EXPECT_TRUE(testing::verify_value(value).failed());
}

TEST(VerifyRedistribute, RejectsMalformedFields) {
  testing::expect_bad(a_redistribute_case(), "/before", json::array({nullptr}),
                      "one entry for each of 4 ranks");
  testing::expect_bad(a_redistribute_case(), "/after/0/hash", 5, "hash'");
  testing::expect_bad(a_redistribute_case(), "/error",
                      {{"error", "ValueError"}, {"message_contains", "x"}},
                      "either steps or error");
  testing::expect_bad(a_redistribute_case(), "/world", 100000, "a world of at most 4096 ranks");
  testing::expect_bad(a_redistribute_case(), "/collectives", 5, "field 'collectives'");
}

// Fewer placements than mesh dims, or a dim that the tensor hasn't: no pieces, and no crash.
TEST(VerifyRedistribute, FailsWithoutAShardingOfTheTensor) {
  json value = a_redistribute_case();
  testing::expect_fails(value, "/from", json::array(), "a placement for each of");
  testing::expect_fails(value, "/from/0", "S(7)", "IndexError");
  testing::expect_bad(value, "/from/0", "Ragged([1,2])", "field 'from.0': expected R, S(d)");
}

// A case without the bits to expect must be no case, not a crash.
TEST(VerifyRedistribute, WantsTheBitsAfterwards) {
  json value = a_redistribute_case();
  value.erase("after");
  EXPECT_THROW(testing::verify_value(value), BadCase);
}

}  // namespace
}  // namespace simmesh
