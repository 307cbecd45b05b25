#include "verify/paddle/rule_lines.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "verify/pytorch/ops/rule_files.h"

namespace simmesh {
namespace {

using nlohmann::json;

json table_of(const std::string& op) {
  for (const std::string& line : paddle_rule_lines())
    if (json table = json::parse(line); table["id"] == "paddle_rules/" + op) return table;
  ADD_FAILURE() << "no table of " << op;
  return {};
}

TEST(RuleLines, RowsAreWhatTheRuleTakesAsItIs) {
  EXPECT_EQ(table_of("matmul")["rows"],
            json::parse(R"j([[["R","R"],["R"]],[["R","S(1)"],["S(1)"]],[["S(0)","R"],["S(0)"]],
                            [["S(1)","S(0)"],["P(sum)"]]])j"));
  EXPECT_EQ(table_of("embedding")["args"], json::parse(R"([{"input":1},{"input":0}])"));
}

// The ids of the tables that have a row which doesn't hold, in order.
std::vector<std::string> refuted_ids(const RuleFilesResult& result) {
  std::vector<std::string> ids;
  for (const RuleTableVerdict& table : result.tables)
    if (!table.refuted.empty()) ids.push_back(table.id);
  return ids;
}

// docs/differences.md lists these and says why. A rule that is confirmed by mistake, or refuted by
// mistake, shows here.
TEST(RuleLines, ValidationRefutesWhatPaddleCallsASum) {
  testing::TemporaryFolder folder;
  std::string text;
  for (const std::string& line : paddle_rule_lines()) text += line + "\n";
  std::string path = folder.write("paddle_rules.jsonl", text);
  RuleFilesResult result = judge_rule_files({.paths = {path}});
  EXPECT_THAT(
      refuted_ids(result),
      ::testing::ElementsAre("paddle_rules/all", "paddle_rules/amax", "paddle_rules/amin",
                             "paddle_rules/concat", "paddle_rules/logsumexp", "paddle_rules/p_norm",
                             "paddle_rules/prod", "paddle_rules/unbind"));
  EXPECT_EQ(result.tables.size(), paddle_rule_lines().size());
}

}  // namespace
}  // namespace simmesh
