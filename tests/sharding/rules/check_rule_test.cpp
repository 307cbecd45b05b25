#include "sharding/rules/check_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/autograd/function.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/reductions/scans.h"
#include "core/ops/shapes/views.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const CheckRuleOptions claimed_alone = {.unclaimed = false};

Tensor product_of(const Tensor& x, const Tensor& w) { return matmul(x, w); }
Tensor biased(const Tensor& x, const Tensor& w, const Tensor& b) { return matmul(x, w) + b; }
Tensor weights(const Tensor& x) { return softmax(x, 1); }
Tensor column_sums(const Tensor& x) { return sum(x, {0}); }
Tensor row_means(const Tensor& x) { return mean(x, {1}); }
Tensor running(const Tensor& x) { return cumsum(x, 0); }
Tensor rectified(const Tensor& x) { return relu(x); }
Tensor doubled_rows(const Tensor& x) { return x * 2.0; }
Tensor centred(const Tensor& x) { return x - mean(x, {0}, true); }
Tensor looked_up(const Tensor& table, const Tensor& rows) { return embedding(table, rows); }
Tensor turned(const Tensor& x) { return x.transpose(0, 1); }
Tensor highest(const Tensor& x) { return amax(x, {0}); }
Tensor scaled_by_rows(const Tensor& x) { return x * double(x.size(0)); }
std::vector<Tensor> total_and_rows(const Tensor& x) { return {sum(x, {0}), x * 3.0}; }
// The identity, whose gradient is another function's where it is cut.
Tensor with_odd_gradient(const Tensor& x) {
  Tensor y = x.detach().clone();
  record_function("odd", {x}, {&y}, [](const std::vector<Tensor>& gradients) {
    return std::vector<Tensor>{gradients[0] * double(gradients[0].size(0))};
  });
  return y;
}

RuleInput row_numbers() { return {"m", tensor_of<std::int64_t>({3}, {0, 2, 1})}; }

// FunctionCase is a function with a rule that holds, one that doesn't, and what shows it.
struct FunctionCase {
  const char* name;
  RuleFunction function;
  std::vector<RuleInput> inputs;
  RuleText right, wrong;
  const char* shown;
};

std::vector<FunctionCase> function_cases() {
  return {
      {"product",
       product_of,
       {"mk", "kn"},
       "mk, kn -> mn",
       "S(1), S(0) -> S(0)",
       "S(1), S(0) -> S(0) on a mesh of 2, inputs [3, 0], [0, 3]: output 0: expected the shape "
       "[3, 3], got [6, 3]"},
      // A bias that every rank adds counts several times.
      {"biased",
       biased,
       {"mk", "kn", "n"},
       "S(1), S(0), P -> P",
       "S(1), S(0), R -> P",
       "on a mesh of 2"},
      {"softmax over a cut dim", weights, {"ab"}, "S(0) -> S(0)", "S(1) -> S(1)", "output 0"},
      {"sum", column_sums, {"ab"}, {"S(0) -> P", "S(1) -> S(0)"}, "S(0) -> R", "output 0"},
      {"mean over a cut dim", row_means, {"ab"}, "S(0) -> S(0)", "S(1) -> P(avg)", "output 0[0]"},
      {"cumsum", running, {"ab"}, {"S(1) -> S(1)", "P -> P"}, "S(0) -> S(0)", "output 0["},
      {"relu", rectified, {"ab"}, {"P(max) -> P(max)", "_S(1,2) -> _S(1,2)"}, "P -> P", "output 0"},
      {"twice",
       doubled_rows,
       {"ab"},
       {"P(min) -> P(min)", "P(avg) -> P(avg)", "P -> P"},
       "P -> R",
       "ranks 0 and 1 of a mesh dim differ"},
      {"centred", centred, {"ab"}, "S(1) -> S(1)", "S(0) -> S(0)", "output 0["},
      {"embedding",
       looked_up,
       {"3 d", row_numbers()},
       {"S(1), R -> S(1)", "R, S(0) -> S(0)"},
       "S(1), R -> S(0)",
       "output 0"},
      {"transposed", turned, {"ab"}, "ab -> ba", "S(0) -> S(0)", "output 0"},
      {"strided", doubled_rows, {"ab"}, "_S(0,2) -> _S(0,2)", "_S(0,2) -> S(0)", "output 0"},
      {"two outputs", total_and_rows, {"ab"}, "S(0) -> P, S(0)", "S(0) -> P, R", "output 1"},
      {"size of the piece", scaled_by_rows, {"ab"}, "S(1) -> S(1)", "S(0) -> S(0)", "output 0["},
      {"max of a cut dim", highest, {"4 b"}, "S(1) -> S(0)", "S(0) -> P", "output 0"},
  };
}

// If this fails, a right rule of an author is refuted, or a wrong one passes.
TEST(CheckRule, TellsRightRulesFromWrongOnes) {
  for (const FunctionCase& one : function_cases()) {
    SCOPED_TRACE(one.name);
    EXPECT_TRUE(check_rule(one.function, one.right, one.inputs, claimed_alone));
    RuleCheck wrong = check_rule(one.function, one.wrong, one.inputs, claimed_alone);
    ASSERT_FALSE(wrong.holds());
    EXPECT_THAT(wrong.counter_example()->text(), HasSubstr(one.shown));
  }
}

// If this fails, a rule whose gradient is wrong trains another model.
TEST(CheckRule, JudgesGradients) {
  RuleCheck wrong = check_rule(with_odd_gradient, "S(0) -> S(0)", {"ab"}, claimed_alone);
  ASSERT_FALSE(wrong.holds());
  EXPECT_EQ(wrong.counter_example()->what, "gradient of input 0");
  EXPECT_TRUE(check_rule(with_odd_gradient, "S(1) -> S(1)", {"ab"}, claimed_alone));
  EXPECT_TRUE(check_rule(with_odd_gradient, "S(0) -> S(0)", {"ab"},
                         {.backward = false, .unclaimed = false}));
}

// If this fails, whole numbers are rounded otherwise than any numbers.
TEST(CheckRule, JudgesWholeNumbers) {
  CheckRuleOptions whole = {.values = RuleValues::whole, .unclaimed = false};
  EXPECT_TRUE(check_rule(product_of, "mk, kn -> mn", {}, whole));
  EXPECT_FALSE(check_rule(product_of, "R, S(0) -> R", {"mk", "kn"}, whole));
}

// If this fails, an author isn't told what else holds, in the words of Python.
TEST(CheckRule, FindsRowsThatNobodyClaims) {
  RuleCheck check = check_rule(product_of, {"S(0), R -> S(0)", "S(1), S(0) -> S(0)"}, {"mk", "kn"},
                               {.name = "matmul"});
  EXPECT_THAT(check.text(), StartsWith("rule of matmul: REFUTED\n  S(1), S(0) -> S(0) on a mesh of "
                                       "2, inputs [3, 0], [0, 3]: "));
  EXPECT_THAT(check.text(),
              HasSubstr("  the rule covers 1 of 5 placements of the inputs that need no "
                        "communication\n"
                        "  also holds: R, S(1) -> S(1)\n  also holds: R, P(sum) -> P(sum)\n"
                        "  also holds: S(1), S(0) -> P(sum)\n  also holds: P(sum), R -> P(sum)"));
}

Tensor gathered(const Tensor& x, const DeviceMesh& mesh) {
  return all_gather(x, {.dim = 0}, process_group(mesh, 0));
}
Tensor reduced(const Tensor& x, const DeviceMesh& mesh) {
  return all_reduce(sum(x, {0}), ReduceOp::sum, process_group(mesh, 0));
}

// If this fails, functions that communicate can't be judged, or sums on ranks are rounded twice.
TEST(CheckRule, RunsAFunctionThatCommunicatesOnRanks) {
  CheckRuleOptions lines = {.meshes = {{2}, {3}}, .backward = false, .unclaimed = false};
  EXPECT_TRUE(check_rule(reduced, "S(0) -> R", {"ab"}, lines));
  RuleCheck twice = check_rule(reduced, "R -> R", {"ab"}, lines);
  ASSERT_FALSE(twice.holds());
  EXPECT_THAT(twice.text(), HasSubstr("R -> R on a mesh of 2, inputs [3, 3]: output 0[0]: "));
  lines.pieces = {RulePieces::even};
  EXPECT_TRUE(check_rule(gathered, "S(0) -> R", {"ab"}, lines));
  lines.pieces = {RulePieces::few};
  EXPECT_THAT(check_rule(gathered, "S(0) -> R", {"ab"}, lines).text(),
              HasSubstr("the function raises"));
}

Tensor waiting(const Tensor& x, const DeviceMesh& mesh) {
  if (this_rank().id() == 0) return all_reduce(x, ReduceOp::sum, process_group(mesh, 0));
  return x;
}

TEST(CheckRule, ADeadlockIsACounterExample) {
  RuleCheck check = check_rule(waiting, "R -> R", {"a"}, {.meshes = {{2}}, .unclaimed = false});
  EXPECT_FALSE(check.holds());
}

// If this fails, the library's own rules are judged otherwise than those of authors.
TEST(CheckRule, JudgesRulesOfTheLibraryByName) {
  EXPECT_TRUE(check_registered_rule("mm", {"mk", "kn"}, {}, claimed_alone));
  EXPECT_TRUE(check_registered_rule("relu", {"ab"}, {}, claimed_alone));
}

TEST(CheckRule, RefusesNonsense) {
  auto refuses = [](auto call, ErrorKind kind, const std::string& text) {
    testing::expect_error(call, kind, text);
  };
  const std::vector<RuleInput> two = {"mk", "kn"};
  refuses([&] { check_rule(product_of, "S(0), X -> S(0)", two); }, ErrorKind::value_error,
          "got 'X'");
  refuses([&] { check_rule(product_of, "S(0) -> S(0)", two); }, ErrorKind::value_error,
          "expected 1 inputs, as the rule has, got 2");
  refuses([&] { check_rule(product_of, "S(0), R -> S(0)"); }, ErrorKind::value_error,
          "only a rule of letters says them itself");
  refuses([&] { check_rule(product_of, "S(2), R -> S(0)", two); }, ErrorKind::value_error,
          "input 0 has 2 dims, which S(2) can't cut");
  refuses([&] { check_rule(product_of, "S(0), R -> S(0), R", two); }, ErrorKind::value_error,
          "expected 2 outputs, as the rule has, got 1");
  refuses([&] { check_rule(rectified, "S(0), R -> S(0)", two); }, ErrorKind::runtime_error,
          "it raises for all sizes");
  refuses([&] { check_rule(product_of, "S(0), R -> S(0)", two, {.meshes = {{0}}}); },
          ErrorKind::value_error, "expected sizes of a mesh of at least 1, got [0]");
  refuses([&] { check_rule(product_of, "S(0), R -> S(0)", two, {.meshes = {}}); },
          ErrorKind::value_error, "expected a mesh to judge on");
  refuses([&] { check_rule(product_of, "S(0), R -> S(0)", two, {.pieces = {}}); },
          ErrorKind::value_error, "expected some of even, uneven, few, none");
  refuses([&] { check_rule(product_of, "S(0), R -> S(0)", two, {.schedules = {}}); },
          ErrorKind::value_error, "expected a schedule");
  refuses([&] { check_registered_rule("no_op", two); }, ErrorKind::value_error,
          "expected the name of an op, got 'no_op'");
}

// If this fails, a function that fails on some ranks or at some sizes looks like one that doesn't.
TEST(CheckRule, SaysWhereTheFunctionRaises) {
  RuleFunction picky = [](const Tensor& x) -> Tensor {
    if (x.size(0) == 1) raise(ErrorKind::value_error, "mine", "expected several rows, got one");
    return x * 1.0;
  };
  RuleCheck check = check_rule(picky, "S(0) -> S(0)", {"ab"}, claimed_alone);
  ASSERT_FALSE(check.holds());
  EXPECT_THAT(
      check.counter_example()->text(),
      HasSubstr("rank (0): the function raises ValueError: expected several rows, got one"));
  RuleFunction wide = [](const Tensor& x) -> Tensor {
    if (x.numel() == 0 && x.size(0) == 0)
      raise(ErrorKind::value_error, "mine", "expected rows, got none");
    return x * 1.0;
  };
  RuleCheck left_out = check_rule(wide, "R -> R\nP -> P", {"ab"}, claimed_alone);
  EXPECT_TRUE(left_out.holds() && left_out.refused.empty());
  left_out = check_rule(
      wide, "S(0) -> S(0)", {"ab"},
      {.meshes = {{2}}, .unclaimed = false, .pieces = {RulePieces::even, RulePieces::none}});
  EXPECT_TRUE(left_out.holds());
  EXPECT_THAT(left_out.text(), HasSubstr("left out 1 sizes, the first inputs [0, 3]: ValueError: "
                                         "expected rows, got none"));
}

}  // namespace
}  // namespace simmesh
