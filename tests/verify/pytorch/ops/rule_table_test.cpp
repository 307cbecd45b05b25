#include "verify/pytorch/ops/rule_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/temporary_folder.h"
#include "verify/pytorch/ops/rule_files.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A table of one row, with inputs of one shape.
std::string table(const std::string& op, const std::string& inputs, const std::string& args,
                  const std::string& row) {
  return R"({"kind":"rules","id":"a/1","source":"pytorch 2.15.0","op":")" + op +
         R"(","mesh":{"shape":[2]},"inputs":[)" + inputs + R"~(],"args":)~" + args +
         R"(,"rows":[)" + row + "]}";
}

RuleTableVerdict judged(const std::string& text) {
  return judge_rule_table(read_rule_table(RecordedCase::parse(text, {.file = "a.jsonl"})), 0);
}

const std::string even = R"~({"shape":[4,6],"dtype":"float32"})~";
const std::string uneven = R"~({"shape":[5,7],"dtype":"float32"})~";
const std::string x = R"~([{"input":0}])~", two = R"~([{"input":0},{"input":1}])~";

// If a row that PyTorch claims and that doesn't hold were confirmed, nobody would learn of it.
TEST(RuleTable, RefutesWhatPyTorchGotWrong) {
  const std::string wrong[] = {
      table("aten.cumsum.default", even, R"~([{"input":0},-1])~", R"~([["S(1)"],["S(1)"]])~"),
      table("aten.cumprod.default", even, R"~([{"input":0},-2])~", R"~([["S(0)"],["S(0)"]])~"),
      table("aten.linalg_vector_norm.default", even, R"~([{"input":0},"inf"])~",
            R"~([["P(max)"],["P(max)"]])~"),
      table("aten.fill_.Scalar", even, R"~([{"input":0},3.0])~", R"~([["P(sum)"],["P(sum)"]])~"),
      table("aten.mse_loss.default", uneven + "," + uneven, two,
            R"~([["S(0)","S(0)"],["P(avg)"]])~"),
      table("aten.logsumexp.default", even, R"~([{"input":0},[0],true])~",
            R"~([["S(1)"],["S(0)"]])~"),
      table("aten.add.Tensor", even + "," + even, two, R"~([["P(sum)","R"],["P(sum)"]])~"),
      table("aten.mean.dim", uneven, R"~([{"input":0},[0]])~", R"~([["S(0)"],["P(avg)"]])~"),
      table("aten.view.default", even, R"~([{"input":0},[24]])~", R"~([["S(1)"],["S(0)"]])~"),
  };
  for (const std::string& text : wrong) {
    RuleTableVerdict verdict = judged(text);
    EXPECT_THAT(verdict.refuted, SizeIs(1)) << text;
    for (const auto& one : verdict.refuted) EXPECT_FALSE(one.what.empty());
  }
}

// Arguments that are sizes follow the pieces.
TEST(RuleTable, ConfirmsRowsThatHold) {
  const std::string right[] = {
      table("aten.cumsum.default", even, R"~([{"input":0},-1])~", R"~([["S(0)"],["S(0)"]])~"),
      table("aten.mean.dim", even, R"~([{"input":0},[0]])~", R"~([["S(0)"],["P(avg)"]])~"),
      table("aten.view.default", even, R"~([{"input":0},[24]])~", R"~([["S(0)"],["S(0)"]])~"),
      table("aten.mul_.Scalar", even, R"~([{"input":0},3.0])~", R"~([["P(sum)"],["P(sum)"]])~"),
      table("aten._foreach_add.List", even + "," + even, R"~([[{"input":0}],[{"input":1}]])~",
            R"~([["P(sum)","P(sum)"],["P(sum)"]])~"),
  };
  for (const std::string& text : right) {
    RuleTableVerdict verdict = judged(text);
    EXPECT_THAT(verdict.refuted, IsEmpty()) << text << verdict.refuted[0].what;
    EXPECT_GE(verdict.trials, 6u);
  }
}

TEST(RuleTable, FindsRulesOfOursThatATableLacks) {
  RuleTableVerdict verdict = judged(table("aten.mm.default",
                                          R"~({"shape":[4,6],"dtype":"float32"},)~"
                                          R"~({"shape":[6,8],"dtype":"float32"})~",
                                          two, R"~([["S(0)","R"],["S(0)"]])~"));
  EXPECT_THAT(verdict.beyond, ::testing::Contains("S(1),S(0) -> P(sum)"));
  EXPECT_THAT(verdict.beyond, ::testing::Not(::testing::Contains("S(0),R -> S(0)")));
}

TEST(RuleTable, AFunctionThatTakesNoDataIsRefuted) {
  RuleTableVerdict verdict =
      judged(table("aten.mm.default", even + "," + even, two, R"~([["S(0)","R"],["S(0)"]])~"));
  EXPECT_EQ(verdict.trials, 0u);
  EXPECT_THAT(verdict.refuted, SizeIs(1));
}

TEST(RuleTable, RefusesRowsThatDontFit) {
  auto refusal = [](const std::string& text) {
    return testing::error_text(
        [&] { read_rule_table(RecordedCase::parse(text, {.file = "a.jsonl", .line = 3})); });
  };
  EXPECT_THAT(refusal(table("aten.abs.default", even, x, R"~([["R","R"],["R"]])~")),
              HasSubstr("placements for each of 1 inputs"));
  EXPECT_THAT(refusal(table("aten.abs.default", even, x, R"~([["S(2)"],["R"]])~")),
              HasSubstr("a shard of one of 2 dims"));
  EXPECT_THAT(refusal(table("aten.abs.default", even, x, R"~([["R"],["Q"]])~")),
              HasSubstr("a placement"));
  EXPECT_THAT(refusal(table("aten.abs.default", even, x, R"~([["R"]])~")),
              HasSubstr("placements of the inputs, and of the outputs"));
  EXPECT_THAT(refusal(table("aten.abs.default", R"~({"shape":[4],"dtype":"float3"})~", x, "")),
              HasSubstr("the name of a dtype"));
}

// If one of PyTorch's 225 recorded tables were refuted, either the tables or our ops would be
// wrong.
TEST(RuleFiles, ConfirmTheRecordedTables) {
  RuleFilesRequest request{
      .paths = {std::string(SIMMESH_SOURCE_DIR) + "/tests/cases/pytorch_ops/rules.jsonl"},
      .jobs = 2};
  RuleFilesResult result = judge_rule_files(request);
  EXPECT_EQ(result.tables.size(), 225u);
  EXPECT_EQ(result.refuted_count(), 0u) << to_text(result, request, {});
  for (const RuleTableVerdict& one : result.tables) EXPECT_GE(one.trials, 6u) << one.id;
}

TEST(RuleFiles, ReportNamesWhatIsRefuted) {
  RuleFilesResult result;
  result.tables.push_back({.id = "a/1",
                           .function = "aten.abs.default",
                           .rule_count = 2,
                           .trials = 12,
                           .refuted = {{"S(0) -> R", "seed 3", "output 0 differs"}},
                           .beyond = {"S(1) -> S(1)"}});
  RuleFilesRequest request{.paths = {"a b.jsonl"}, .seed = 4};
  EXPECT_EQ(to_text(result, request, {.shows_beyond = true}),
            "FAIL a/1 aten.abs.default: 1 of 2 rules confirmed in 12 trials\n"
            "  wrong S(0) -> R (seed 3): output 0 differs\n"
            "  beyond S(1) -> S(1)\n"
            "reproduce: simmesh validate --rules 'a b.jsonl' --seed 4\n"
            "1 rules of ours hold that the tables lack\n"
            "2 rules, 1 wrong, 0 missing\n");
  EXPECT_EQ(to_text(result, request, {.quiet = true}), "2 rules, 1 wrong, 0 missing\n");
}

}  // namespace
}  // namespace simmesh
