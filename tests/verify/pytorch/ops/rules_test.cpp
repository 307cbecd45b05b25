#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json rules_of(const std::string& op) {
  return testing::first_with("../pytorch_ops/rules.jsonl",
                             [&](const json& each) { return each["op"] == op; });
}

TEST(VerifyRules, PassesRecordedCases) {
  for (const char* op : {"aten.abs.default", "aten.neg.default", "aten.add.Tensor"})
    testing::expect_passes(rules_of(op));
}

TEST(VerifyRules, NamesRulesThatDiffer) {
  json value = rules_of("aten.neg.default");
  testing::expect_fails(value, "/rows/5/1/0", "P(min)", "the outputs of P(min)");
  testing::expect_fails(rules_of("aten.equal.default"), "/rows/0/1", json::array(),
                        "the outputs of R,R");
  json rows = value["rows"];
  rows.erase(0);
  testing::expect_fails(value, "/rows", rows, "R -> R");
  json further = rules_of("aten.abs.default");
  further["rows"].push_back(json::array({json::array({"P(sum)"}), json::array({"P(sum)"})}));
  testing::expect_fails(further, "/inputs/0/dtype", "float32", "expected the rule P(sum)");
}

TEST(VerifyRules, BadCasesSayWhere) {
  json value = rules_of("aten.abs.default");
  testing::expect_bad(value, "/tried", 3, "tried");
  testing::expect_bad(value, "/mesh/shape", json::array({2, 2}), "one mesh dim");
  testing::expect_bad(value, "/candidates", json::array({json::array({"R"}), json::array({"R"})}),
                      "tried");
}

}  // namespace
}  // namespace simmesh
