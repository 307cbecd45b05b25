#include "sharding/typed/local_rule.h"

#include <gtest/gtest.h>
#include <vector>

#include "sharding/typed/type_refusal.h"

namespace simmesh::typed {
namespace {

using enum SpmdType;

const TypingContext rule_context{.axes = {{"tp", 4}}};

LocalOperand operand_of(SpmdType type, bool requires_grad = true) {
  return {.tensor = {.types = AxisTypes{{"tp", type}}, .requires_grad = requires_grad}};
}
LocalOperand untyped_operand() { return {.tensor = {.requires_grad = true}}; }
LocalOperand number_operand() { return {.is_number = true}; }

SpmdType joined(std::string_view op, const std::vector<LocalOperand>& operands,
                const TypingContext& context = rule_context) {
  return infer_local(op, operands, context).at("tp");
}

// Checks that a call is refused for that reason, on axis tp.
void expect_rule_refused(RefusalCode code, std::string_view op,
                         const std::vector<LocalOperand>& operands,
                         const TypingContext& context = rule_context) {
  try {
    infer_local(op, operands, context);
    FAIL() << op << " is accepted";
  } catch (const TypeRefusal& refusal) {
    EXPECT_EQ(refusal.code(), code) << op;
    EXPECT_EQ(refusal.axis(), "tp");
  }
}

// If this fails, a tensor that differs between ranks is taken for one that doesn't.
TEST(LocalRule, EqualTypesStayAndVaryingWins) {
  for (SpmdType type : {replicate, invariant, varying})
    EXPECT_EQ(joined("relu", {operand_of(type)}), type);
  EXPECT_EQ(joined("maximum", {operand_of(replicate), operand_of(varying)}), varying);
  EXPECT_EQ(joined("maximum", {operand_of(invariant), number_operand()}), invariant);
}

// If this fails, a sum that is not done yet passes where it would count more than once, or not at
// all.
TEST(LocalRule, PartialPassesWhereTheOperationIsLinearInIt) {
  EXPECT_EQ(joined("add", {operand_of(partial), operand_of(partial)}), partial);
  EXPECT_EQ(joined("mul", {operand_of(partial), operand_of(replicate)}), partial);
  EXPECT_EQ(joined("div", {operand_of(partial), operand_of(replicate)}), partial);
  EXPECT_EQ(joined("mul_scalar", {operand_of(partial), number_operand()}), partial);
  EXPECT_EQ(joined("addmm", {operand_of(partial), operand_of(partial), operand_of(replicate)}),
            partial);
  expect_rule_refused(RefusalCode::partial_nonlinear, "relu", {operand_of(partial)});
  expect_rule_refused(RefusalCode::partial_affine, "add",
                      {operand_of(partial), operand_of(replicate)});
  expect_rule_refused(RefusalCode::partial_affine, "add_scalar",
                      {operand_of(partial), number_operand()});
  expect_rule_refused(RefusalCode::partial_twice, "mul",
                      {operand_of(partial), operand_of(partial)});
  expect_rule_refused(RefusalCode::partial_with_varying, "mul",
                      {operand_of(partial), operand_of(varying)});
  expect_rule_refused(RefusalCode::partial_divisor, "div",
                      {operand_of(replicate), operand_of(partial)});
}

// If this fails, the gradient of an invariant tensor misses the sum over ranks.
TEST(LocalRule, InvariantMixesOnlyWithWhatNeedsNoGradient) {
  expect_rule_refused(RefusalCode::invariant_mixed, "mul",
                      {operand_of(invariant), operand_of(replicate)});
  expect_rule_refused(RefusalCode::invariant_mixed, "mul",
                      {operand_of(invariant), operand_of(varying)});
  EXPECT_EQ(joined("mul", {operand_of(invariant), operand_of(replicate, false)}), invariant);
  EXPECT_EQ(joined("mul", {operand_of(invariant, false), operand_of(replicate)}), replicate);
  TypingContext no_grad = rule_context;
  no_grad.has_gradients = false;
  EXPECT_EQ(joined("mul", {operand_of(invariant), operand_of(replicate)}, no_grad), replicate);
  expect_rule_refused(
      RefusalCode::invariant_mixed, "addmm",
      {operand_of(invariant), operand_of(replicate, false), operand_of(replicate, false)});
}

// If this fails, an operand that nobody annotated is taken for a replica.
TEST(LocalRule, MissingTypesAreRefusedUnlessPermitted) {
  TypingContext permissive = rule_context;
  permissive.is_strict = false;
  expect_rule_refused(RefusalCode::missing_axis, "add", {operand_of(replicate), untyped_operand()});
  EXPECT_EQ(joined("add", {operand_of(varying), untyped_operand()}, permissive), varying);
  EXPECT_TRUE(
      infer_local("add", std::vector{untyped_operand(), untyped_operand()}, permissive).empty());
  EXPECT_EQ(joined("zeros", {}), replicate);
  EXPECT_TRUE(infer_local("randn", std::vector<LocalOperand>(), rule_context).empty());
}

// If this fails, a tensor's type goes stale once an operation in place has written it.
TEST(LocalRule, WritesKeepTheTypeOfTheirTarget) {
  expect_rule_refused(RefusalCode::mutation, "add_", {operand_of(replicate), operand_of(varying)});
  EXPECT_EQ(joined("add_", {operand_of(replicate, false), operand_of(varying)}), varying);
  EXPECT_EQ(
      joined("add_out", {operand_of(varying), operand_of(varying), operand_of(replicate, false)}),
      varying);
  expect_rule_refused(RefusalCode::mutation, "mul_out",
                      {operand_of(replicate), operand_of(replicate), operand_of(varying)});
}

// Axes are judged apart from each other, the first by name that is refused ends the call.
TEST(LocalRule, AxesAreIndependent) {
  TypingContext context{.axes = {{"tp", 2}, {"dp", 2}}};
  LocalOperand a{.tensor = {.types = AxisTypes{{"dp", varying}, {"tp", partial}}}};
  LocalOperand b{.tensor = {.types = AxisTypes{{"dp", replicate}, {"tp", replicate}}}};
  EXPECT_EQ(infer_local("matmul", std::vector{a, b}, context),
            (AxisTypes{{"dp", varying}, {"tp", partial}}));
  expect_rule_refused(RefusalCode::partial_affine, "add", {a, b}, context);
}

}  // namespace
}  // namespace simmesh::typed
