#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json spmd_case(const std::string& op, bool is_refused) {
  return testing::first_with("../paddle/spmd.jsonl", [&](const json& each) {
    return each["op"] == op && each.contains("refused") == is_refused;
  });
}

TEST(VerifyPaddleSpmd, NamesWhatDiffers) {
  json value = spmd_case("matmul", false);
  testing::expect_passes(value);
  testing::expect_fails(value, "/inferred_inputs/0/dims/0", json::array({9}), "inferred_inputs");
  testing::expect_fails(value, "/outputs/0/dims", json::array(), "outputs: expected");
  testing::expect_fails(value, "/outputs/0/partial", {{"0", "max"}}, "outputs: expected");
  testing::expect_fails(value, "/op", "no_op", "no_op: refused");
  testing::expect_fails(value, "/inputs/0/dims", json::array(), "matmul: refused");
}

// A list is not the same as its entries.
TEST(VerifyPaddleSpmd, ComparesListsAsLists) {
  json value = spmd_case("concat", false);
  testing::expect_passes(value);
  testing::expect_fails(value, "/inferred_inputs", value["inferred_inputs"][0], "inferred_inputs");
}

TEST(VerifyPaddleSpmd, NamesAnotherRefusal) {
  json value = spmd_case("add", true);
  testing::expect_passes(value);
  testing::expect_fails(value, "/refused/error", "KeyError", "expected a KeyError");
  testing::expect_fails(value, "/refused/message_contains", "no such words", "no such words");
  testing::expect_bad(value, "/op", "replicated", "expected inputs");
}

}  // namespace
}  // namespace simmesh
