#include "verify/typed/typed_case.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using enum typed::SpmdType;

const typed::TypingContext call_context{.axes = {{"tp", 2}}};

TypedOperand call_operand(typed::SpmdType type) {
  TypedOperand result;
  result.local.tensor = {.types = typed::AxisTypes{{"tp", type}}, .shape = {2, 2}};
  return result;
}

TEST(TypedCase, RunsCallsOfEveryKind) {
  TypedCall product{.op = "matmul", .operands = {call_operand(partial), call_operand(replicate)}};
  EXPECT_TRUE(product.is_local());
  EXPECT_EQ(types_text(run_typed(product, call_context).results[0].types), "{tp: P}");
  TypedCall sum{.op = "all_reduce",
                .axes = {"tp"},
                .types = {{"src", {partial}}, {"dst", {invariant}}},
                .operands = {call_operand(partial)}};
  EXPECT_FALSE(sum.is_local());
  EXPECT_EQ(types_text(run_typed(sum, call_context).results[0].types), "{tp: I}");
  TypedCall loss{.op = "backward", .operands = {call_operand(partial)}};
  EXPECT_TRUE(run_typed(loss, call_context).results.empty());
  EXPECT_EQ(types_text(std::nullopt), "null");
}

// If this fails, a word that nobody reads changes nothing, and a slip in a case passes.
TEST(TypedCase, RefusesWhatACallDoesntTake) {
  TypedCall sum{.op = "all_reduce", .axes = {"tp"}, .operands = {call_operand(partial)}};
  testing::expect_error([&] { run_typed(sum, call_context); }, ErrorKind::value_error,
                        "expected the argument src of all_reduce");
  sum.types = {{"src", {partial}}, {"dst", {replicate}}};
  sum.args["no_such"] = true;
  testing::expect_error([&] { run_typed(sum, call_context); }, ErrorKind::type_error,
                        "got 'no_such'");
  sum.args.clear();
  sum.axes = {"tp", "tp"};
  testing::expect_error([&] { run_typed(sum, call_context); }, ErrorKind::value_error,
                        "expected different axes");
  TypedCall relu{.op = "relu", .axes = {"tp"}, .operands = {call_operand(replicate)}};
  testing::expect_error([&] { run_typed(relu, call_context); }, ErrorKind::type_error,
                        "expected no axis and no types of relu");
}

}  // namespace
}  // namespace simmesh
