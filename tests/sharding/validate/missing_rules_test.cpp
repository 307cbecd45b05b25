#include "sharding/validate/missing_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ops/registry/registry.h"
#include "sharding/validate/validate_sample.h"

namespace simmesh {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

Op with_rules(std::string_view name, StrategyRows rules) {
  Op op = *find_op(name);
  op.strategy = strategy(std::move(rules));
  return op;
}

const Placement pending_sum = Partial(), pending_average = Partial(ReduceOp::avg),
                replicated = Replicate();

// If a rule that holds weren't found, nobody would notice that an op moves data for nothing.
TEST(MissingRules, FindsAllOfAProduct) {
  SampleVerdict verdict = validate_sample(with_rules("mm", {}), {"mm", "ab bc"});
  EXPECT_THAT(verdict.rules, IsEmpty());
  EXPECT_THAT(verdict.missing,
              UnorderedElementsAre("S(0),R -> S(0)", "R,S(1) -> S(1)", "S(1),S(0) -> P(sum)",
                                   "P(sum),R -> P(sum)", "R,P(sum) -> P(sum)", "P(avg),R -> P(avg)",
                                   "R,P(avg) -> P(avg)"));
}

TEST(MissingRules, LeavesOutWhatIsClaimed) {
  Op op = with_rules(
      "mm", {rule({Shard(0), replicated}, Shard(0)), rule({pending_sum, replicated}, pending_sum)});
  SampleVerdict verdict = validate_sample(op, {"mm", "ab bc"});
  EXPECT_EQ(verdict.missing.size(), 5u);
  EXPECT_THAT(verdict.missing, Not(Contains("S(0),R -> S(0)")));
}

// If whole numbers were all that is tried, floor would pass for linear; if only positive ones, abs.
TEST(MissingRules, DataDontHelpWhatDoesntHold) {
  for (const char* name : {"floor", "trunc", "abs", "relu", "exp"}) {
    SampleVerdict verdict = validate_sample(with_rules(name, {}), {name, "ab"});
    EXPECT_THAT(verdict.missing, Not(Contains("P(sum) -> P(sum)"))) << name;
    EXPECT_THAT(verdict.missing, Contains("S(0) -> S(0)")) << name;
  }
  EXPECT_THAT(validate_sample(with_rules("relu", {}), {"relu", "ab"}).missing,
              Contains("P(max) -> P(max)"));
}

// If outputs that never vary counted, "no element is NaN" would be linear.
TEST(MissingRules, OutputsThatNeverVarySayNothing) {
  SampleVerdict verdict = validate_sample(with_rules("isnan", {}), {"isnan", "ab"});
  EXPECT_THAT(verdict.missing, UnorderedElementsAre("S(0) -> S(0)", "S(1) -> S(1)"));
}

TEST(MissingRules, ARuleOfEvenSizesOnlyIsntMissing) {
  OpSample rows = {"mean", "d:ab", {{"dims", Dims{0}}, {"keepdim", false}}};
  SampleVerdict verdict = validate_sample(with_rules("mean", {}), rows);
  EXPECT_THAT(verdict.missing, Not(Contains("S(0) -> P(avg)")));
  EXPECT_THAT(verdict.missing, Contains("S(1) -> S(0)"));
}

}  // namespace
}  // namespace simmesh
