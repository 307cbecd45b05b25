#include "sharding/redistribute/greedy_planner.h"

#include <gtest/gtest.h>

#include "sharding/redistribute/step_feasibility.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

// trace writes the lists that a plan passes through.
std::string trace(const char* from, const char* to, const Dims& mesh) {
  std::string text = from;
  for (const PlanStep& step : greedy_steps(parse_placements(from), parse_placements(to), mesh))
    text += " > " + to_string(step.after.placements);
  return text;
}

// If this fails, the greedy planner takes other passes than the documented ones.
TEST(GreedyPlanner, TakesTwoPasses) {
  const Dims cube{2, 2, 2};
  EXPECT_EQ(trace("S(0),S(0),S(0)", "S(1),S(1),S(1)", cube),
            "S(0),S(0),S(0) > S(0),S(0),R > S(0),R,R > S(1),R,R > S(1),S(1),R > S(1),S(1),S(1)");
  EXPECT_EQ(trace("P(sum),P(sum),S(0)", "S(0),S(0),S(0)", cube),
            "P(sum),P(sum),S(0) > P(sum),P(sum),R > P(sum),R,R > S(0),R,R > S(0),S(0),R > "
            "S(0),S(0),S(0)");
  EXPECT_EQ(trace("P(sum),P(sum)", "R,R", {2, 2}), "P(sum),P(sum) > R,P(sum) > R,R");
  EXPECT_EQ(trace("P(sum),P(sum),S(0)", "R,R,S(0)", cube),
            "P(sum),P(sum),S(0) > P(sum),R,S(0) > R,R,S(0)");
  EXPECT_EQ(trace("S(0)", "S(1)", {4}), "S(0) > S(1)");
  EXPECT_EQ(trace("S(0),R", "S(0),R", {2, 2}), "S(0),R");
}

// If this fails, shards of size-1 mesh dims start the first pass.
TEST(GreedyPlanner, OnlyShardsOverSeveralRanksStartTheFirstPass) {
  EXPECT_EQ(trace("S(0),P(sum),P(sum)", "S(0),R,R", {1, 2, 2}),
            "S(0),P(sum),P(sum) > S(0),R,P(sum) > S(0),R,R");
  EXPECT_EQ(trace("_S(0,2),R", "R,S(1)", {3, 2}), "_S(0,2),R > _S(0,2),S(1) > R,S(1)");
}

// If this fails, plain shards are removed while others are inside them, so pieces get misplaced.
TEST(GreedyPlanner, PlainShardsAreTakenOffInnermostFirst) {
  const Placements alphabet = parse_placements("R,S(0),S(1),P(sum)");
  for (const Dims& mesh : {Dims{2, 3}, Dims{2, 1, 2}, Dims{2, 2, 2}}) {
    const auto lists = small_worlds::lists(mesh.size(), alphabet);
    for (const Placements& from : lists) {
      for (const Placements& to : lists) {
        const auto steps = greedy_steps(from, to, mesh);
        EXPECT_TRUE(plan_is_feasible(Dims{7, 5}, mesh, {from, {}}, steps))
            << to_string(from) << " > " << to_string(to);
        if (from == to) {
          EXPECT_TRUE(steps.empty());
        } else {
          EXPECT_EQ(steps.back().after.placements, to);
        }
      }
    }
  }
}

}  // namespace
}  // namespace simmesh
