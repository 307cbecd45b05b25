#include "sharding/validate/missing_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
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

const Placement partial_total = Partial(), on_all_ranks = Replicate();

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
  Op op = with_rules("mm", {rule({Shard(0), on_all_ranks}, Shard(0)),
                            rule({partial_total, on_all_ranks}, partial_total)});
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

// If each combination asked for its shapes, those of equal shapes would be refused, and caught,
// again and again: that is the slowest way to learn nothing.
TEST(MissingRules, ShapesAreRefusedOnce) {
  std::size_t refused = 0;
  Op op = with_rules("mm", {});
  op.shape = [&refused, shape = op.shape](gsl::span<const TensorType> inputs,
                                          const Attributes& attributes) {
    try {
      return shape(inputs, attributes);
    } catch (const Error&) {
      ++refused;
      throw;
    }
  };
  validate_sample(op, {"mm", "ab bc"});
  EXPECT_LE(refused, 12u);  // a copy and five kinds of operands have the same shapes
}

// If outputs that never vary counted, "no element is NaN" would be linear.
TEST(MissingRules, OutputsThatNeverVarySayNothing) {
  SampleVerdict verdict = validate_sample(with_rules("isnan", {}), {"isnan", "ab"});
  EXPECT_THAT(verdict.missing, UnorderedElementsAre("S(0) -> S(0)", "S(1) -> S(1)"));
}

// If nobody looked for them, an op that keeps plain shards only would gather all others.
TEST(MissingRules, StridedAndRaggedShardsAreTriedWherePlainOnesAreClaimed) {
  Op op = with_rules("exp", {rule({Shard(0)}, Shard(0)), rule({Shard(1)}, Shard(1))});
  ShardingStrategy plain_only = *op.strategy;
  plain_only.filter = [](const MeshRequest&, const MeshCandidate& candidate) {
    return (*candidate.inputs[0])[0].is_shard();
  };
  op.strategy = strategy(plain_only);
  EXPECT_THAT(validate_sample(op, {"exp", "ab"}).missing,
              UnorderedElementsAre("P(min) -> P(min)", "P(max) -> P(max)", "_S(0,2) -> _S(0,2)",
                                   "_S(1,2) -> _S(1,2)", "Ragged -> Ragged"));
}

// A missing rule with plain shards stands for the others.
TEST(MissingRules, StridedAndRaggedShardsArentListedBesidePlainOnes) {
  EXPECT_THAT(
      validate_sample(with_rules("exp", {}), {"exp", "ab"}).missing,
      UnorderedElementsAre("P(min) -> P(min)", "P(max) -> P(max)", "S(0) -> S(0)", "S(1) -> S(1)"));
}

// An op that is there to bring its inputs to one of its rows would hold with any others.
TEST(MissingRules, NothingIsMissingOfAnOpThatOnlyAligns) {
  Op op = with_rules("exp", {});
  ShardingStrategy aligning = *op.strategy;
  aligning.only_aligns = true;
  op.strategy = strategy(aligning);
  EXPECT_THAT(validate_sample(op, {"exp", "ab"}).missing, IsEmpty());
}

TEST(MissingRules, ARuleOfEvenSizesOnlyIsntMissing) {
  OpSample rows = {"mean", "d:ab", {attribute::dims = Dims{0}, attribute::keepdim = false}};
  SampleVerdict verdict = validate_sample(with_rules("mean", {}), rows);
  EXPECT_THAT(verdict.missing, Not(Contains("S(0) -> P(avg)")));
  EXPECT_THAT(verdict.missing, Contains("S(1) -> S(0)"));
}

}  // namespace
}  // namespace simmesh
