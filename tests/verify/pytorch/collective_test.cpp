#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json a_collective_case(const std::string& op) {
  return testing::first_with("collective.jsonl", [&](const json& each) {
    return each["op"] == op && each.contains("after") && each["after"].size() >= 3 &&
           each["tensor"].contains("shape") && each["tensor"]["shape"].size() == 2;
  });
}

TEST(VerifyCollective, AgreesWithAllRecordedCases) {
  for (const json& value : testing::recorded_values("collective.jsonl"))
    testing::expect_passes(value);
}

// Each check that never fires would let wrong bits pass as right.
TEST(VerifyCollective, NamesWhatDiffers) {
  json value = a_collective_case("all_reduce");
  testing::expect_fails(value, "/before/1/hash", "0000000000000000", "rank 1 before: bits");
  testing::expect_fails(value, "/after/2/hash", "0000000000000000", "rank 2 after: bits");
  testing::expect_fails(value, "/after/0/shape", json::array({99}), "rank 0 after: shape");
  testing::expect_fails(value, "/after/0/dtype", "bool", "rank 0 after: dtype: expected bool");
  testing::expect_fails(value, "/op", "all_shuffle",
                        "'all_shuffle' is not known, expected all_reduce");
  testing::expect_fails(value, "/reduce", "mean", "mean");
  testing::expect_fails(value, "/mesh/colour", 1, "colour' is not known");
  testing::expect_fails(value, "/api", "magic", "expected functional or inplace");
  testing::expect_fails(value, "/root", 0, "the field 'root' is not known");
  testing::expect_fails(value, "/before/1", nullptr, "rank 1 before: does it take part?");
  testing::expect_fails(value, "/after/1", nullptr, "rank 1 after: does it take part?");
  value.erase("after");
  testing::expect_fails(value, "/error", {{"error", "ValueError"}, {"message_contains", "x"}},
                        "expected a ValueError with 'x', got no error");
  testing::expect_fails(a_collective_case("broadcast"), "/root", 77, "refused: ");
}

TEST(VerifyCollective, RejectsMalformedFields) {
  json value = a_collective_case("all_reduce");
  testing::expect_bad(value, "/error", {{"error", "ValueError"}, {"message_contains", "x"}},
                      "either after or error");
  testing::expect_bad(value, "/before", json::array({nullptr}), "one entry for each of");
  testing::expect_bad(value, "/group_dim", 9, "group_dim");
  testing::expect_bad(value, "/shapes", json::array(), "at least 1 entry");
  testing::expect_bad(value, "/shapes", value["after"][0]["shape"], "field 'shapes");
  testing::expect_bad(value, "/tensor/shape", nullptr, "either tensor.shape or shapes");
  testing::expect_bad(value, "/tensor/shape", json::array({1 << 13, 1 << 13}), "inputs of at most");
  json exchange = a_collective_case("all_to_all_single");
  testing::expect_bad(exchange, "/splits", json::array({json::array({1})}), "splits");
  value.erase("after");
  EXPECT_THROW(testing::verify_value(value), BadCase);
}

}  // namespace
}  // namespace simmesh
