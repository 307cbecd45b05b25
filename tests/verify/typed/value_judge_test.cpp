#include "verify/typed/value_judge.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

using enum typed::SpmdType;
using ::testing::HasSubstr;

const typed::TypingContext judge_context{.axes = {{"tp", 3}}};

TypedOperand judged_operand(typed::SpmdType type) {
  TypedOperand result;
  result.local.tensor = {.types = typed::AxisTypes{{"tp", type}}, .shape = {6, 6}};
  return result;
}

// The counter-example of a call whose result is claimed to be of that type.
std::string judged(const std::string& op, std::vector<TypedOperand> operands,
                   typed::SpmdType claimed, std::map<std::string, PythonValue> args = {}) {
  TypedCall call{.op = op, .args = std::move(args), .operands = std::move(operands)};
  TypedOutcome outcome{.results = {{.types = typed::AxisTypes{{"tp", claimed}}}}};
  return counter_example(call, outcome, judge_context).value_or("none");
}

// If this fails, a claim that no rank keeps is confirmed.
TEST(ValueJudge, RefutesWrongClaims) {
  EXPECT_THAT(judged("relu", {judged_operand(varying)}, replicate), HasSubstr("rank (tp 0) has"));
  EXPECT_THAT(judged("relu", {judged_operand(partial)}, partial), HasSubstr("stand for"));
  EXPECT_THAT(judged("mul", {judged_operand(partial), judged_operand(partial)}, partial),
              HasSubstr("stand for"));
  EXPECT_THAT(judged("add", {judged_operand(partial), judged_operand(replicate)}, partial),
              HasSubstr("stand for"));
  EXPECT_THAT(judged("div", {judged_operand(replicate), judged_operand(partial)}, partial),
              HasSubstr("stand for"));
  EXPECT_THAT(judged("nansum", {judged_operand(partial)}, partial), HasSubstr("nan"));
}

TEST(ValueJudge, ConfirmsRightClaims) {
  EXPECT_EQ(judged("matmul", {judged_operand(partial), judged_operand(replicate)}, partial),
            "none");
  EXPECT_EQ(judged("add", {judged_operand(partial), judged_operand(partial)}, partial), "none");
  EXPECT_EQ(judged("mean", {judged_operand(partial)}, partial), "none");
  EXPECT_EQ(judged("cumsum", {judged_operand(partial)}, partial, {{"dim", std::int64_t(0)}}),
            "none");
  EXPECT_EQ(judged("softmax", {judged_operand(replicate)}, replicate, {{"dim", std::int64_t(1)}}),
            "none");
  EXPECT_EQ(judged("exp", {judged_operand(varying)}, varying), "none");
}

// If this fails, a conversion that promises to keep what a tensor stands for may change it.
TEST(ValueJudge, ConversionsKeepTheMeaning) {
  TypedCall call{.op = "convert",
                 .axes = {"tp"},
                 .types = {{"src", {partial}}, {"dst", {partial}}},
                 .operands = {judged_operand(varying)}};
  EXPECT_THAT(counter_example(call, {}, judge_context).value_or("none"), HasSubstr("stands for"));
  call.operands = {judged_operand(partial)};
  EXPECT_FALSE(counter_example(call, {}, judge_context));
}

TEST(ValueJudge, FindsEqualCallsThatAreAccepted) {
  TypedCall linear{.op = "linear",
                   .operands = {judged_operand(partial), judged_operand(replicate)}};
  EXPECT_THAT(contradiction(linear, judge_context).value_or("none"), HasSubstr("matmul"));
  TypedCall relu{.op = "relu", .operands = {judged_operand(partial)}};
  EXPECT_FALSE(contradiction(relu, judge_context));
}

}  // namespace
}  // namespace simmesh
