#include "sharding/redistribute/redistribute_refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "sharding/redistribute/planner.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

enum class Api { redistribute, local };

// refusal returns "Class: message" of an API's refusal, and "" where it accepts.
std::string refusal(Api api, Shape shape, Dims mesh, const char* from, const char* to,
                    PlannerChoice planner = PlannerChoice::greedy) {
  const PlanRequest request{.shape = std::move(shape),
                            .mesh_shape = std::move(mesh),
                            .from = parse_placements(from),
                            .to = parse_placements(to),
                            .planner = planner};
  return testing::kind_and_message([&] {
    if (api == Api::redistribute) validate_redistribute(request);
    validate_steps(make_plan(request), request);
  });
}

using ::testing::ContainsRegex;

// If this fails, the public call lets a Partial target through, or refuses one that stays as it is.
TEST(RedistributeRefusals, ThePublicCallMakesNoPartial) {
  const Api api = Api::redistribute;
  const char* phrase = "^RuntimeError: .*only Shard to Partial.sum. redistribution is supported";
  EXPECT_THAT(refusal(api, {8}, {2}, "R", "P(sum)"), ContainsRegex(phrase));
  EXPECT_THAT(refusal(api, {8}, {2}, "R", "P(product)"), ContainsRegex(phrase));
  EXPECT_THAT(refusal(api, {8}, {2}, "P(sum)", "P(avg)"), ContainsRegex(phrase));
  EXPECT_THAT(refusal(api, {8}, {2, 2}, "P(sum),P(sum)", "R,P(avg)"), ContainsRegex(phrase));
  // It comes before the refusals of the level below.
  EXPECT_THAT(refusal(api, {8}, {2, 2}, "P(sum),S(7)", "P(max),R"), ContainsRegex(phrase));
  EXPECT_EQ(refusal(api, {8}, {2, 2}, "P(sum),S(0)", "P(sum),R"), "");
}

// If this fails, ops that can't be finished in any order are mixed.
TEST(RedistributeRefusals, PartialOpsAreNotMixed) {
  const char* phrase = "^ValueError: Mixed Partial reduce types are not supported";
  for (const Api api : {Api::redistribute, Api::local}) {
    EXPECT_THAT(refusal(api, {8}, {2, 2}, "P(sum),P(max)", "R,R"), ContainsRegex(phrase));
    EXPECT_EQ(refusal(api, {8}, {2, 2}, "P(sum),P(avg)", "R,R"), "");
    EXPECT_EQ(refusal(api, {8}, {2, 2}, "MaskP,P(avg)", "R,R"), "");
  }
  EXPECT_THAT(refusal(Api::local, {8}, {2, 2}, "R,R", "P(min),P(sum)"), ContainsRegex(phrase));
}

// If this fails, impossible steps are carried out, or are refused in another order than they would
// run in.
TEST(RedistributeRefusals, StepsThatNoRankCanDoAreRefusedInOrder) {
  const Api api = Api::local;
  EXPECT_THAT(refusal(api, {8}, {2}, "S(0)", "P(max)"),
              ContainsRegex("^RuntimeError: .*not supported yet"));
  EXPECT_THAT(refusal(api, {8}, {2}, "P(sum)", "P(max)"),
              ContainsRegex("^AssertionError: Redistribution from one partial type"));
  for (const char* to : {"P(product)", "P(band)", "P(bor)", "P(bxor)", "MaskP", "NormP(2)"})
    EXPECT_THAT(refusal(api, {8}, {2}, "R", to),
                ContainsRegex("^ValueError: .*conversion is not supported"));
  // With a shard the last mesh dim comes first, without one the first.
  EXPECT_THAT(refusal(api, {8}, {2, 2}, "P(sum),S(0)", "P(avg),P(avg)"),
              ContainsRegex("^RuntimeError"));
  EXPECT_THAT(refusal(api, {8}, {2, 2}, "P(sum),R", "P(avg),P(avg)"),
              ContainsRegex("^AssertionError"));
  for (const char* to : {"P(sum)", "P(avg)", "P(min)", "P(max)"})
    EXPECT_EQ(refusal(api, {8}, {2}, "R", to), "");
}

// If this fails, the graph planner is refused ways that it finds through R, or is allowed those
// without a conversion.
TEST(RedistributeRefusals, TheGraphPlannerGoesThroughReplicate) {
  const auto graph = PlannerChoice::graph;
  EXPECT_EQ(refusal(Api::local, {8}, {2}, "S(0)", "P(sum)", graph), "");
  EXPECT_EQ(refusal(Api::local, {8}, {2}, "P(sum)", "P(max)", graph), "");
  for (const char* to : {"P(product)", "MaskP", "NormP(2)"})
    EXPECT_THAT(refusal(Api::local, {8}, {2}, "S(0)", to, graph),
                ContainsRegex("^ValueError: .*conversion is not supported"));
}

// If this fails, mesh dims of size 1 refuse steps that they needn't do.
TEST(RedistributeRefusals, UnitMeshDimsDoNothing) {
  EXPECT_EQ(refusal(Api::local, {8}, {1}, "S(0)", "P(sum)"), "");
  EXPECT_EQ(refusal(Api::local, {8}, {1}, "P(sum)", "P(max)"), "");
  EXPECT_EQ(refusal(Api::local, {8}, {1}, "R", "P(product)"), "");
}

// If this fails, impossible shards get another error under one planner than under the other.
TEST(RedistributeRefusals, ImpossibleDimsAreRefusedByBothPlanners) {
  for (const auto planner : {PlannerChoice::greedy, PlannerChoice::graph}) {
    const Api api = Api::redistribute;
    EXPECT_THAT(refusal(api, {8}, {2}, "R", "S(1)", planner),
                ContainsRegex("^IndexError: Dimension out of range"));
    EXPECT_THAT(refusal(api, {8}, {2}, "R", "S(-2)", planner),
                ContainsRegex("^IndexError: Dimension out of range"));
    EXPECT_THAT(refusal(api, {}, {2}, "R", "S(0)", planner),
                ContainsRegex("^AssertionError: Expected tensor.dim\\(\\) > 0"));
  }
}

// If this fails, nonsense reaches the planners.
TEST(RedistributeRefusals, NonsenseIsAValueError) {
  const char* kind = "^ValueError";
  EXPECT_THAT(refusal(Api::redistribute, {8}, {2, 2}, "R", "S(0)"), ContainsRegex(kind));
  EXPECT_THAT(refusal(Api::redistribute, {8}, {2}, "R", "S(0),R"), ContainsRegex(kind));
  EXPECT_THAT(refusal(Api::local, {8}, {}, "", ""), ContainsRegex(kind));
  EXPECT_THAT(refusal(Api::local, {8}, {0}, "R", "S(0)"), ContainsRegex(kind));
  EXPECT_THAT(refusal(Api::local, {-8}, {2}, "R", "S(0)"), ContainsRegex(kind));
  EXPECT_THAT(refusal(Api::local, Shape(33, 1), {2}, "R", "S(0)"), ContainsRegex(kind));
  PlanRequest request{.shape = {8},
                      .mesh_shape = {2},
                      .from = parse_placements("R"),
                      .to = parse_placements("S(0)")};
  request.topology.bandwidth_intra_gb_s = 0;
  EXPECT_THROW(make_plan(request), Error);
}

}  // namespace
}  // namespace simmesh
