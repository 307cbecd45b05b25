#include "sharding/validate/claimed_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/validate/outputs_difference.h"
#include "sharding/validate/rule_text.h"
#include "tests/sharding/validate/sample_call.h"

namespace simmesh {
namespace {

using ::testing::Contains;
using ::testing::Not;
using testing::sample_call;
using ::testing::UnorderedElementsAre;

std::vector<std::string> texts_of(const StrategyRows& rules) {
  std::vector<std::string> texts;
  for (const StrategyRow& rule : rules) texts.push_back(rule_text(rule));
  return texts;
}

// If this fails, rules that a strategy claims are never judged, or are listed as missing.
TEST(ClaimedRules, AreTheRulesWhoseInputsAreCandidates) {
  WholeCall call = sample_call("mm", "ab bc");
  InputCandidates plain(2, {Replicate(), Shard(0), Shard(1)});
  EXPECT_THAT(texts_of(claimed_rules(call, plain, 2)),
              UnorderedElementsAre("S(0),R -> S(0)", "R,S(1) -> S(1)", "S(1),S(0) -> P(sum)"));
  InputCandidates whole_second = {{Replicate(), Shard(0)}, {Replicate()}};
  EXPECT_THAT(texts_of(claimed_rules(call, whole_second, 2)),
              UnorderedElementsAre("S(0),R -> S(0)"));
}

// If this fails, the validator judges rules that dispatch never uses, or never tries them where it
// looks for missing ones.
TEST(ClaimedRules, ShortDimsCountOnlyWhereTheyAreAllowed) {
  WholeCall whole = sample_call("exp", "ab");
  ShardingStrategy own = whole.strategy;
  own.accepts_short_dims = false;
  WholeCall call{whole.op,          own, {}, whole.inputs, whole.outputs, whole.input_types,
                 whole.output_types};
  InputCandidates rows(1, {Replicate(), Shard(0)});
  EXPECT_THAT(texts_of(claimed_rules(call, rows, 4)), Contains("S(0) -> S(0)"));
  EXPECT_THAT(texts_of(claimed_rules(call, rows, 5)), Not(Contains("S(0) -> S(0)")));
  EXPECT_THAT(texts_of(claimed_rules(call, rows, 5, ShortDims::allowed)), Contains("S(0) -> S(0)"));
}

TEST(ClaimedRules, RulesOfTwoMeshDimsAreCombined) {
  WholeCall call = sample_call("exp", "ab");
  StrategyRows rules = {rule({Shard(0)}, Shard(0)), rule({Shard(1)}, Shard(1))};
  std::vector<std::string> combined;
  for (const MeshPlacements& placements : claimed_over_mesh(call, rules, Dims{2, 2}))
    combined.push_back(mesh_rule_text(placements));
  EXPECT_THAT(combined,
              UnorderedElementsAre("[S(0),S(0)] -> [S(0),S(0)]", "[S(0),S(1)] -> [S(0),S(1)]",
                                   "[S(1),S(0)] -> [S(1),S(0)]", "[S(1),S(1)] -> [S(1),S(1)]"));
}

TEST(ClaimedRules, ARuleOfReplicatedInputsOnlyIsNone) {
  EXPECT_TRUE(all_replicated(rule({Replicate(), std::nullopt}, Replicate())));
  EXPECT_FALSE(all_replicated(rule({Replicate(), Partial()}, Partial())));
}

}  // namespace
}  // namespace simmesh
