#include "sharding/rules/rule_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ops/matrices/products.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;

// If this fails, the placements that an output has aren't told from those that it doesn't have.
TEST(RuleTrial, FindsThePlacementsThatHold) {
  RuleFunction product = [](const Tensor& x, const Tensor& w) { return matmul(x, w); };
  std::vector<RuleInput> inputs = {"mk", "kn"};
  CheckRuleOptions options;
  RuleTrial trial(product, inputs, {.shapes = {Shape{3, 4}, Shape{4, 2}}, .mesh = {2}},
                  {Placements{Shard(1)}, Placements{Shard(0)}}, options);
  EXPECT_EQ(trial.output_count(), 1u);
  EXPECT_EQ(trial.output_dims(0), 2);
  auto held = trial.holding({{Replicate(), Shard(0), Shard(1), Partial()}});
  ASSERT_TRUE(held);
  EXPECT_THAT((*held)[0], ElementsAre(Partial()));
}

TEST(RuleTrial, AFunctionThatRaisesForWholeInputsIsRefused) {
  RuleFunction fails = [](const Tensor&) -> Tensor { throw std::runtime_error("no such thing"); };
  std::vector<RuleInput> inputs = {"m"};
  CheckRuleOptions options;
  try {
    RuleTrial trial(fails, inputs, {.shapes = {Shape{3}}, .mesh = {2}}, {Placements{Shard(0)}},
                    options);
    ADD_FAILURE() << "expected a refusal";
  } catch (const RuleTrial::Refused& refused) {
    EXPECT_EQ(refused.why, "exception: no such thing");
  }
}

}  // namespace
}  // namespace simmesh
