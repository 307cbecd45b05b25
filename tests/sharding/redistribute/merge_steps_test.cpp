#include <gtest/gtest.h>

#include "core/check/error.h"
#include "sharding/redistribute/planner.h"

namespace simmesh {
namespace {

struct Setup {
  Shape shape;
  Dims mesh;
  const char* from;
  const char* to;
  std::vector<Dims> flattened;
  PlannerChoice planner = PlannerChoice::greedy;
};

// trace writes "mesh dims:from>to" of each step, with "/n" for a division.
std::string trace(const Setup& setup) {
  const Plan plan = make_plan({.shape = setup.shape,
                               .mesh_shape = setup.mesh,
                               .from = parse_placements(setup.from),
                               .to = parse_placements(setup.to),
                               .planner = setup.planner,
                               .flattened = setup.flattened});
  std::string text;
  for (const PlanStep& step : plan.steps) {
    EXPECT_EQ(step.merged, step.mesh_dims.size() > 1);
    text += fmt::format("{}{}:{}>{}", text.empty() ? "" : " ", fmt::join(step.mesh_dims, ""),
                        to_string(step.from), to_string(step.to));
    if (step.divide_by != 1) text += fmt::format("/{}", step.divide_by);
  }
  return text;
}

// If this fails, steps are merged that must not be, or are not although they could.
TEST(MergeSteps, AFlattenedMeshMergesTheWholeRun) {
  const Dims cube{2, 2, 2};
  EXPECT_EQ(trace({{8}, cube, "S(0),S(0),S(0)", "R,R,R", {{0, 1, 2}}}), "012:S(0)>R");
  EXPECT_EQ(trace({{8}, cube, "S(0),S(0),S(0)", "R,R,R", {{2, 0, 1}}}), "012:S(0)>R");
  EXPECT_EQ(trace({{8}, cube, "S(0),S(0),S(0)", "R,R,R", {{0, 1}}}), "2:S(0)>R 1:S(0)>R 0:S(0)>R");
  EXPECT_EQ(trace({{8}, cube, "S(0),S(0),S(0)", "S(0),R,R", {{0, 1}, {1, 2}}}), "12:S(0)>R");
  EXPECT_EQ(trace({{8}, cube, "P(max),P(max),R", "R,R,R", {{0, 1}}}), "01:P(max)>R");
  EXPECT_EQ(trace({{8, 8}, cube, "S(0),S(0),R", "S(1),S(1),R", {{0, 1}}}),
            "1:S(0)>R 0:S(0)>S(1) 1:R>S(1)");
}

// If this fails, mesh dims of size 1 keep a mesh from being found.
TEST(MergeSteps, UnitMeshDimsDoNotCount) {
  EXPECT_EQ(trace({{8}, {2, 1, 2}, "P(sum),P(sum),P(sum)", "R,R,R", {{0, 2}}}), "012:P(sum)>R");
  EXPECT_EQ(trace({{8}, {2, 1, 2}, "P(sum),R,P(sum)", "R,R,R", {{0, 1, 2}}}), "02:P(sum)>R");
}

// If this fails, averages are divided twice, not at all, or by the sizes of summed mesh dims.
TEST(MergeSteps, AveragesDivideOnceBySizesOfTheirOwn) {
  EXPECT_EQ(trace({{8}, {2, 3}, "P(avg),P(sum)", "R,R", {{0, 1}}}), "01:P(sum)>R/2");
  EXPECT_EQ(trace({{12}, {2, 3}, "P(avg),P(avg)", "S(0),S(0)", {{0, 1}}}), "01:P(sum)>S(0)/6");
  EXPECT_EQ(trace({{8}, {2, 3}, "P(sum),P(sum)", "R,R", {{0, 1}}}), "01:P(sum)>R");
}

// If this fails, a reduce-scatter is merged that cuts some rank's piece unevenly.
TEST(MergeSteps, ReduceScattersMustDivideOnEveryRank) {
  EXPECT_EQ(trace({{12}, {2, 3}, "P(sum),P(sum)", "S(0),S(0)", {{0, 1}}}), "01:P(sum)>S(0)");
  EXPECT_EQ(trace({{13}, {2, 3}, "P(sum),P(sum)", "S(0),S(0)", {{0, 1}}}),
            "0:P(sum)>S(0) 1:P(sum)>S(0)");
  // 9 rows over 2 ranks are 5 and 4: only 4 is divisible.
  EXPECT_EQ(trace({{9}, {2, 2, 2}, "R,P(sum),P(sum)", "S(0),S(0),S(0)", {{1, 2}}}),
            "0:R>S(0) 1:P(sum)>S(0) 2:P(sum)>S(0)");
  EXPECT_EQ(trace({{8}, {2, 2, 2}, "R,P(sum),P(sum)", "S(0),S(0),S(0)", {{1, 2}}}),
            "0:R>S(0) 12:P(sum)>S(0)");
  EXPECT_EQ(trace({{0, 3}, {2, 3}, "P(max),P(max)", "S(0),S(0)", {{0, 1}}}), "01:P(max)>S(0)");
}

// If this fails, an uneven all-gather is not merged, though ours concatenates the actual pieces.
TEST(MergeSteps, AllGathersMayBeUneven) {
  EXPECT_EQ(trace({{13}, {2, 3}, "S(0),S(0)", "R,R", {{0, 1}}}), "01:S(0)>R");
}

// If this fails, shards that are gathered outer first end up in the order of another nesting.
TEST(MergeSteps, AllGathersOfAnotherOrderStay) {
  const Placements list = parse_placements("S(0),S(0)");
  const Plan plan = make_plan({.shape = {8},
                               .mesh_shape = {2, 2},
                               .from = list,
                               .to = parse_placements("R,R"),
                               .from_order = ShardOrder::of({{0, {1, 0}}}, list),
                               .flattened = {{0, 1}}});
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].mesh_dims, Dims{0});
}

// If this fails, a merged step forgets the cost of a step it replaces.
TEST(MergeSteps, CostsAddUp) {
  PlanRequest request{.shape = {8},
                      .mesh_shape = {2, 2},
                      .from = parse_placements("P(sum),P(sum)"),
                      .to = parse_placements("R,R")};
  const Plan apart = make_plan(request);
  request.flattened = {{0, 1}};
  const Plan together = make_plan(request);
  EXPECT_EQ(together.cost_us, apart.cost_us);
  EXPECT_EQ(together.steps[0].cost_us, apart.steps[0].cost_us + apart.steps[1].cost_us);
  EXPECT_EQ(together.steps[0].after, apart.steps[1].after);
}

// If this fails, a flattened mesh that can't exist is ignored.
TEST(MergeSteps, ImpossibleFlattenedMeshesAreRefused) {
  for (const Dims& mesh_dims : {Dims{0, 0}, Dims{0, 2}, Dims{-1, 0}})
    EXPECT_THROW(trace({{8}, {2, 2}, "S(0),S(0)", "R,R", {mesh_dims}}), Error);
}

}  // namespace
}  // namespace simmesh
