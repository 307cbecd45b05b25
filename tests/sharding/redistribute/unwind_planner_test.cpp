#include "sharding/redistribute/unwind_planner.h"

#include <gtest/gtest.h>

#include "sharding/redistribute/step_feasibility.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

std::string trace(const Sharding& from, const Sharding& to) {
  std::string text = to_string(from);
  for (const PlanStep& step : unwind_steps(from, to, 2)) text += " > " + to_string(step.after);
  return text;
}

Sharding list(const char* text) { return {parse_placements(text), {}}; }

// If this fails, shards are gathered in another order than innermost first, or more than need be.
TEST(UnwindPlanner, GathersInnermostFirst) {
  EXPECT_EQ(trace(list("_S(0,3),S(0)"), list("S(1),S(0)")),
            "_S(0,3),S(0) > _S(0,3),R > R,R > R,S(0) > S(1),S(0)");
  EXPECT_EQ(trace(list("S(0),_S(0,3)"), list("S(0),R")), "S(0),_S(0,3) > S(0),R");
  EXPECT_EQ(trace(list("P(sum),S(0)"), list("_S(0,3),S(0)")),
            "P(sum),S(0) > P(sum),R > _S(0,3),R > _S(0,3),S(0)");
  EXPECT_EQ(trace(list("P(sum),Ragged([1,2])"), list("R,S(1)")),
            "P(sum),Ragged([1,2]) > P(sum),R > R,R > R,S(1)");
  EXPECT_EQ(trace(list("S(0),R"), list("P(sum),_S(0,5)")),
            "S(0),R > R,R > R,_S(0,5) > P(sum),_S(0,5)");
}

// If this fails, a plan misplaces elements or ends elsewhere: all pairs of lists and orders,
// strided shards among them.
TEST(UnwindPlanner, EveryStepIsFeasible) {
  for (const Dims& mesh : {Dims{3, 2}, Dims{2, 2, 2}}) {
    auto shardings = small_worlds::shardings(mesh.size(), parse_placements("R,S(0),S(1),P(sum)"));
    for (const Placements& strided :
         small_worlds::lists(mesh.size(), parse_placements("R,S(0),_S(0,2),_S(0,3)")))
      shardings.push_back({strided, {}});
    for (std::size_t pair = 0; pair < shardings.size() * shardings.size(); pair += 5) {
      const Sharding& from = shardings[pair / shardings.size()];
      const Sharding& to = shardings[pair % shardings.size()];
      const auto steps = unwind_steps(from, to, 2);
      EXPECT_TRUE(plan_is_feasible(Dims{7, 5}, mesh, from, steps))
          << to_string(from) << " > " << to_string(to);
      EXPECT_EQ(steps.empty() ? from : steps.back().after, to);
    }
  }
}

}  // namespace
}  // namespace simmesh
