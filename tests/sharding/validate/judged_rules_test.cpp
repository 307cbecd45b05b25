#include "sharding/validate/judged_rules.h"

#include <gmock/gmock.h>

#include "sharding/validate/validate_report.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A rule that is refuted is one finding; without it, CI would show that some op is wrong, not
// which.
TEST(JudgedRules, ARefutedRuleIsAFinding) {
  OpVerdict op{.op = "sum"};
  SampleVerdict sample;
  sample.call = "sum(x)";
  sample.rules["S(0) -> R"].wrong = {
      .mesh = "2", .inputs = "float32[4]", .what = "rank 1: expected 3, got 1"};
  sample.rules["R -> R"].trials = 4;
  op.samples = {sample};
  auto checks = judged_rules(op_block(op, {.seed = 5}));
  ASSERT_THAT(checks, SizeIs(2));
  const JudgedCheck& wrong = checks[0].finding ? checks[0] : checks[1];
  EXPECT_EQ(wrong.suite, "sum");
  EXPECT_EQ(wrong.name, "sum(x): S(0) -> R");
  EXPECT_EQ(wrong.finding->rule, "validate/rule");
  EXPECT_EQ(wrong.finding->expected, "3");
  EXPECT_EQ(wrong.finding->rank, 1);
  EXPECT_THAT(wrong.finding->details, HasSubstr("on a mesh 2 with float32[4]"));
  EXPECT_EQ(wrong.finding->reproduce, "simmesh validate sum --seed 5");
}

}  // namespace
}  // namespace simmesh
