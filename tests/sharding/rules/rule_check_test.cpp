#include "sharding/rules/rule_check.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

RuleCheck refuted_check() {
  RuleCheck check{.function = "halves"};
  RuleRow row = parse_rule("S(0) -> P").rows[0];
  check.refuted.push_back({.rows = {row, row},
                           .mesh = {2, 2},
                           .shapes = {Shape{3, 1}},
                           .what = "output 0",
                           .index = "[0, 1]",
                           .expected = "1.0",
                           .got = "2.0"});
  check.trials = 7;
  return check;
}

// If this fails, the verdict reads otherwise than that of Python.
TEST(RuleCheck, TextSaysAllInAFewLines) {
  RuleCheck check = refuted_check();
  EXPECT_EQ(check.text(),
            "rule of halves: REFUTED\n"
            "  S(0) -> P(sum); S(0) -> P(sum) on a mesh of 2 x 2, inputs [3, 1]: output 0[0, 1]: "
            "expected 1.0, got 2.0\n"
            "  7 combinations judged");
  check.refuted.clear();
  check.coverable = 2;
  check.unclaimed = parse_rule("R -> R").rows;
  check.refused.emplace_back(RuleShapes{Shape{0}}, "ValueError: no");
  EXPECT_EQ(check.text(),
            "rule of halves: confirmed\n"
            "  7 combinations judged\n"
            "  the rule covers 0 of 2 placements of the inputs that need no communication\n"
            "  also holds: R -> R\n"
            "  left out 1 sizes, the first inputs [0]: ValueError: no");
  EXPECT_EQ(check.counter_example(), nullptr);
}

// If this fails, a test that expects a rule to hold doesn't print why it doesn't.
TEST(RuleCheck, ExpectTruePrintsTheCounterExample) {
  EXPECT_NONFATAL_FAILURE(EXPECT_TRUE(refuted_check()), "output 0[0, 1]: expected 1.0, got 2.0");
  EXPECT_FALSE(refuted_check());
  EXPECT_TRUE(RuleCheck());
}

}  // namespace
}  // namespace simmesh
