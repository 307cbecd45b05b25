#include "gate/explore/schedule_plan.h"

#include <gmock/gmock.h>

#include "gate/explore/explore_gate.h"
#include "gate/explore/schedule_policy.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

const std::string planned = "[mesh]\nshape = [3]\n[parallel]\nreplicate = {}\n";

// If this fails, an option changes nothing, or changes results that no schedule may change.
TEST(SchedulePlan, EachPolicyGivesSchedulesOfItsOwn) {
  GateFile gate = gate_from_text(planned, "g.toml");
  ExploreRequest request{.schedules = 20, .takes_certificate = false};
  GateExploration mixed = explore_gate(gate, {}, request);
  for (const char* policy : {"random", "pct", "pos", "walk"}) {
    request.policy = schedule_policy_kind(policy);
    GateExploration found = explore_gate(gate, {}, request);
    EXPECT_TRUE(found.ok()) << to_text(found, {});
    EXPECT_EQ(found.data_hash, mixed.data_hash);
    EXPECT_GT(found.distinct, 5u) << policy;
  }
  request.reseed_at = 1'000'000;
  EXPECT_LE(explore_gate(gate, {}, request).distinct, 2u) << "the first one, and its other seed";
  request.reseed_at = 3;
  EXPECT_GT(explore_gate(gate, {}, request).distinct, 5u);
}

// With 2 ranks and 10 steps a run of pct:1, pct:2 or pct:3 finds a bug of that depth with a chance
// of 1/2, 1/20 or 1/200; after 10 of each one is still there with 0.5^10, 0.95^10 or 0.995^10.
TEST(SchedulePlan, SaysWhichChanceABugStillHas) {
  Outcome first{.choices = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1}};
  SchedulePlan plan({.kind = SchedulePolicyKind::pct}, first);
  EXPECT_EQ(
      plan.escape_text(31),
      "a bug of depth 1, 2 or 3 is still there with a chance of at most 0.098 %, 60 % or 95 %: "
      "30 runs of pct:1, pct:2 and pct:3, 2 ranks, 10 steps");
  GateFile gate = gate_from_text(planned, "g.toml");
  ExploreRequest request{
      .schedules = 9, .policy = SchedulePolicyKind::pct, .takes_certificate = false};
  EXPECT_THAT(to_text(explore_gate(gate, {}, request), {}), HasSubstr(" pct:3, 3 ranks"));
  // Every other run is one of pct:3 in the first 32 steps: 0.9995117^1000.
  EXPECT_THAT(
      SchedulePlan({.ranks = 2}, {}).escape_text(2001),
      HasSubstr("in the first 32 steps is still there with a chance of at most 61 %: 1000"));
}

// If this fails, a policy claims a bound that it doesn't have. Of 2 ranks with 5 steps each there
// are 252 orders; 2^10 is 1,024, and 10^10 has 10 digits.
TEST(SchedulePlan, SaysThatAPolicyHasNoBoundByDepth) {
  Outcome first{.choices = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1}};
  for (const auto& [kind, chance] : {std::pair{SchedulePolicyKind::random, "10^-4 in"},
                                     std::pair{SchedulePolicyKind::walk, "10^-3 in"},
                                     std::pair{SchedulePolicyKind::pos, "10^-10 in"}}) {
    std::string text = SchedulePlan({.kind = kind}, first).escape_text(10);
    EXPECT_THAT(text, HasSubstr("no bound by depth"));
    EXPECT_THAT(text, HasSubstr(chance));
  }
  EXPECT_EQ(SchedulePlan({.reseed_at = 3}, {}).escape_text(10),
            "no bound: all schedules begin alike");
}

TEST(SchedulePlan, NamesThePolicies) {
  testing::expect_error([] { schedule_policy_kind("best"); }, ErrorKind::value_error,
                        "expected the policy mixed, random, pct, pos or walk, got 'best'");
}

}  // namespace
}  // namespace simmesh
