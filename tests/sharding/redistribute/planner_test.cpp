#include "sharding/redistribute/planner.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

#include "core/check/error.h"
#include "sharding/placement/local_shape.h"
#include "sharding/redistribute/redistribute_refusals.h"
#include "sharding/redistribute/step_feasibility.h"
#include "tests/expect_error.h"
#include "tests/sharding/recorded_cases.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

using testing::error_of;
using testing::expect_error;

using recorded::Json;

double recorded_cost(const Json& cost) {
  return cost.is_string() ? std::numeric_limits<double>::infinity() : cost.get<double>();
}

Json collectives(const Plan& plan, DimSpan mesh_shape) {
  Json counts = Json::object();
  for (const PlanStep& step : plan.steps) {
    const Collective collective = collective_of(step, mesh_shape);
    if (collective == Collective::none) continue;
    Json& count = counts[std::string(to_string(collective))];
    count = count.is_null() ? 1 : count.get<int>() + 1;
  }
  return counts;
}

// planned does the steps of a redistribution in the recorded API before any data moves.
Plan planned(const Json& record, const PlanRequest& request) {
  if (!record.contains("api")) validate_redistribute(request);
  Plan plan = make_plan(request);
  validate_steps(plan, request);
  return plan;
}

// If this fails, plans or costs on larger meshes differ from PyTorch's: steps, or a bit of a cost.
TEST(Planner, MakesTheRecordedPlans) {
  std::size_t count = 0;
  for (const Json& record : recorded::read("plan.jsonl")) {
    for (const PlanRequest& request : recorded::requests(record)) {
      SCOPED_TRACE(record["id"].get<std::string>());
      const Plan plan = make_plan(request);
      EXPECT_EQ(recorded::steps(plan), record["steps"]);
      EXPECT_EQ(plan.cost_us, recorded_cost(record["cost"]));
      if (record.contains("step_costs")) {
        ASSERT_EQ(plan.steps.size(), record["step_costs"].size());
        for (std::size_t index = 0; index < plan.steps.size(); ++index)
          EXPECT_EQ(plan.steps[index].cost_us, recorded_cost(record["step_costs"][index]));
      }
      ++count;
    }
  }
  EXPECT_GT(count, 400u);
}

// If this fails, a redistribution takes other steps or issues other collectives than PyTorch's, or
// is refused otherwise.
TEST(Planner, MakesTheRecordedSteps) {
  std::size_t count = 0;
  for (const Json& record : recorded::read("redistribute.jsonl")) {
    for (const PlanRequest& request : recorded::requests(record)) {
      SCOPED_TRACE(record["id"].get<std::string>());
      ++count;
      if (!record.contains("error")) {
        const Plan plan = planned(record, request);
        EXPECT_EQ(recorded::steps(plan), record["steps"]);
        EXPECT_EQ(collectives(plan, request.mesh_shape), record["collectives"]);
        continue;
      }
      auto refusal = error_of([&] { planned(record, request); });
      ASSERT_TRUE(refusal) << "expected a refusal";
      EXPECT_EQ(to_string(refusal->kind()), record["error"]["error"].get<std::string>());
      EXPECT_NE(refusal->message().find(record["error"]["message_contains"].get<std::string>()),
                std::string_view::npos)
          << refusal->what();
    }
  }
  EXPECT_GT(count, 5000u);
}

// expect_sound checks a plan without merged steps: it starts from the request's pieces, each step
// can be carried out within its groups, and it ends at the request's pieces.
void expect_sound(const Plan& plan, const PlanRequest& request) {
  const Sharding from{request.from, request.from_order}, to{request.to, request.to_order};
  EXPECT_TRUE(same_pieces(request.shape, request.mesh_shape, plan.from, from));
  EXPECT_TRUE(same_pieces(request.shape, request.mesh_shape, plan.to, to));
  EXPECT_TRUE(plan_is_feasible(request.shape, request.mesh_shape, plan.from, plan.steps))
      << to_string(plan.from) << " > " << to_string(plan.to) << "\n"
      << to_string(plan, request.mesh_shape);
  EXPECT_EQ(plan.steps.empty() ? plan.from : plan.steps.back().after, plan.to);
}

// If this fails, simmesh repeats one of PyTorch's wrong answers, or gives up a plan of PyTorch's
// that is right in itself.
TEST(Planner, DecidesTheDisputedCases) {
  std::size_t count = 0;
  for (const Json& record : recorded::read("disputed.jsonl")) {
    if (record["kind"] != "redistribute") continue;
    const auto why = record["why"].get<std::string>();
    for (const PlanRequest& request : recorded::requests(record)) {
      SCOPED_TRACE(record["id"].get<std::string>());
      ++count;
      if (why.starts_with("an impossible target")) {
        // The same refusal as under the greedy planner, not a failed search.
        expect_error([&] { planned(record, request); },
                     request.shape.empty() ? ErrorKind::assertion_error : ErrorKind::index_error);
        continue;
      }
      const Plan plan = planned(record, request);
      if (!request.flattened.empty()) {
        // Merged gathers of uneven pieces: the plan is right where a gather concatenates the actual
        // pieces.
        if (record.contains("steps")) {
          EXPECT_EQ(recorded::steps(plan), record["steps"]);
        }
        continue;
      }
      expect_sound(plan, request);
      // Averages of integers and permuted meshes are no matter of the plan.
      if (why.find("strided") == why.npos && record.contains("steps")) {
        EXPECT_EQ(recorded::steps(plan), record["steps"]);
      }
    }
  }
  EXPECT_GE(count, 82u);
}

// If this fails, some pair of lists leads to a plan that misplaces elements.
TEST(Planner, EveryPlanOfSmallWorldsIsSound) {
  const Placements alphabet = parse_placements("R,S(0),S(1),_S(0,2),_S(1,3),P(sum)");
  std::size_t turn = 0;
  for (const Dims& mesh : {Dims{4}, Dims{2, 3}, Dims{3, 2}, Dims{2, 2, 2}}) {
    const auto lists = small_worlds::lists(mesh.size(), alphabet);
    const std::size_t stride = mesh.size() == 3 ? 5 : 1;
    for (std::size_t pair = 0; pair < lists.size() * lists.size(); pair += stride) {
      const std::int64_t sizes[] = {0, 1, 5, 6, 12, 17};
      PlanRequest request{.shape = {sizes[turn % 6], sizes[(turn / 6 + 2) % 6]},
                          .mesh_shape = mesh,
                          .from = lists[pair / lists.size()],
                          .to = lists[pair % lists.size()]};
      if (++turn % 2 == 0) request.planner = PlannerChoice::graph;
      const Plan plan = make_plan(request);
      expect_sound(plan, request);
      if (request.from == request.to) {
        EXPECT_TRUE(plan.steps.empty());
      }
    }
  }
}

// If this fails, a plan depends on earlier plans.
TEST(Planner, PlansHaveNoHistory) {
  const auto lists = small_worlds::lists(2, parse_placements("R,S(0),_S(0,2),P(avg),P(sum)"));
  std::vector<PlanRequest> all;
  for (const Placements& from : lists)
    for (const Placements& to : lists)
      all.push_back({.shape = {6, 4},
                     .mesh_shape = {3, 2},
                     .from = from,
                     .to = to,
                     .planner = PlannerChoice::graph,
                     .flattened = {{0, 1}}});
  std::vector<Plan> forwards, backwards;
  for (std::size_t index = 0; index < all.size(); ++index)
    forwards.push_back(make_plan(all[index]));
  for (std::size_t index = all.size(); index-- > 0;) backwards.push_back(make_plan(all[index]));
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(forwards, backwards);
}

PlannerKind used(const char* from, const char* to, PlannerChoice choice, ShardOrder order = {}) {
  return make_plan({.shape = {16, 12},
                    .mesh_shape = {2, 2},
                    .from = parse_placements(from),
                    .to = parse_placements(to),
                    .from_order = std::move(order),
                    .planner = choice})
      .planner;
}

// If this fails, another planner runs than the documented one.
TEST(Planner, ChoosesThePlanner) {
  const auto automatic = PlannerChoice::automatic, greedy = PlannerChoice::greedy;
  EXPECT_EQ(used("S(0),R", "R,S(0)", automatic), PlannerKind::greedy);
  EXPECT_EQ(used("S(0),R", "R,S(0)", PlannerChoice::graph), PlannerKind::graph);
  EXPECT_EQ(used("_S(0,2),S(0)", "R,R", greedy), PlannerKind::graph);
  EXPECT_EQ(used("_S(0,3),S(0)", "R,R", PlannerChoice::graph), PlannerKind::greedy);
  EXPECT_EQ(used("_S(0,3),S(0)", "R,S(0)", automatic), PlannerKind::unwind);
  EXPECT_EQ(used("Ragged([1,3]),R", "R,R", automatic), PlannerKind::unwind);
  const ShardOrder inner_first = ShardOrder::of({{0, {1, 0}}}, parse_placements("S(0),S(0)"));
  EXPECT_EQ(used("S(0),S(0)", "R,R", greedy, inner_first), PlannerKind::graph);
  EXPECT_EQ(used("S(0),S(0)", "_S(0,3),R", greedy, inner_first), PlannerKind::unwind);
  const auto as_operand = PlannerChoice::as_operand;
  EXPECT_EQ(used("S(0),R", "R,S(0)", as_operand), PlannerKind::greedy);
  EXPECT_EQ(used("_S(0,3),S(0)", "R,R", as_operand), PlannerKind::graph);
  EXPECT_EQ(used("S(1),P(sum)", "S(1),_S(0,2)", as_operand), PlannerKind::graph);
}

// If this fails, an op's operand is redistributed by other collectives than PyTorch's, or the
// choice pays for leaving a strided shard.
TEST(Planner, OperandsLeaveStridedShardsAsTheyStand) {
  const Plan plan = make_plan({.shape = {16, 12},
                               .mesh_shape = {2, 2},
                               .from = parse_placements("_S(0,2),S(0)"),
                               .to = parse_placements("R,S(1)"),
                               .planner = PlannerChoice::as_operand});
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(to_string(plan.steps[0]), "S(0)->R on mesh dim 1");
  EXPECT_EQ(to_string(plan.steps[1]), "R->S(1) on mesh dim 1");
  EXPECT_EQ(to_string(plan.steps[2]), "_S(0,2)->R on mesh dim 0");
  EXPECT_EQ(plan.cost_us, plan.steps[0].cost_us);
  EXPECT_GT(plan.cost_us, 0.0);
}

// If this fails, negative dims are refused or planned as another dim.
TEST(Planner, DimsMayCountFromTheEnd) {
  const PlanRequest from_end{.shape = {8, 4},
                             .mesh_shape = {2},
                             .from = parse_placements("S(-2)"),
                             .to = parse_placements("S(-1)")};
  PlanRequest from_front = from_end;
  from_front.from = parse_placements("S(0)");
  from_front.to = parse_placements("S(1)");
  EXPECT_EQ(make_plan(from_end), make_plan(from_front));
}

}  // namespace
}  // namespace simmesh
