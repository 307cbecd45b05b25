#include "sharding/redistribute/plan.h"

#include <gtest/gtest.h>

#include "sharding/redistribute/planner.h"

namespace simmesh {
namespace {

Collective of(const char* from, const char* to, std::int64_t members = 2) {
  PlanStep step;
  step.mesh_dims = {0};
  step.from = parse_placement(from);
  step.to = parse_placement(to);
  return collective_of(step, Dims{members});
}

// If this fails, the number of collectives that a rank issues is counted wrongly.
TEST(Plan, EachStepIssuesItsCollective) {
  EXPECT_EQ(of("P(sum)", "R"), Collective::all_reduce);
  EXPECT_EQ(of("P(sum)", "S(0)"), Collective::reduce_scatter);
  EXPECT_EQ(of("P(sum)", "_S(0,2)"), Collective::all_reduce);
  EXPECT_EQ(of("MaskP", "R"), Collective::all_reduce);
  EXPECT_EQ(of("S(0)", "R"), Collective::all_gather);
  EXPECT_EQ(of("S(0)", "S(1)"), Collective::all_to_all);
  EXPECT_EQ(of("S(0)", "_S(0,2)"), Collective::all_gather);
  EXPECT_EQ(of("_S(0,2)", "S(0)"), Collective::all_gather);
  EXPECT_EQ(of("_S(0,2)", "R"), Collective::all_gather);
  EXPECT_EQ(of("Ragged([1,2])", "R"), Collective::all_gather);
  EXPECT_EQ(of("R", "S(0)"), Collective::none);
  EXPECT_EQ(of("R", "P(sum)"), Collective::none);
  EXPECT_EQ(of("S(0)", "R", 1), Collective::none);
  EXPECT_EQ(of("P(sum)", "R", 1), Collective::none);
}

// If this fails, the sharding that a step starts from is taken from the wrong place.
TEST(Plan, BeforeIsTheSourceOrTheStepBefore) {
  const Plan plan = make_plan({.shape = {16, 8},
                               .mesh_shape = {2, 4},
                               .from = {Shard(0), Replicate()},
                               .to = {Replicate(), Shard(1)}});
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.before(0), plan.from);
  EXPECT_EQ(plan.before(1), plan.steps[0].after);
  EXPECT_EQ(plan.steps[1].after, plan.to);
}

// If this fails, the printed plan changes.
TEST(Plan, PrintsOneLineAStep) {
  const Dims mesh{2, 2};
  const PlanRequest request{.shape = {8},
                            .mesh_shape = mesh,
                            .from = parse_placements("P(avg),P(sum)"),
                            .to = parse_placements("S(0),S(0)"),
                            .flattened = {{0, 1}}};
  EXPECT_EQ(to_string(make_plan(request), mesh),
            "P(sum)-->S(0) on mesh dims 0+1: reduce_scatter, divided by 2, then S(0),S(0)\n");
  const PlanRequest ordered{.shape = {8},
                            .mesh_shape = mesh,
                            .from = parse_placements("R,S(0)"),
                            .to = parse_placements("_S(0,2),S(0)")};
  EXPECT_EQ(to_string(make_plan(ordered), mesh),
            "R->S(0) on mesh dim 0: none, then S(0)[1],S(0)[0]\n");
}

}  // namespace
}  // namespace simmesh
