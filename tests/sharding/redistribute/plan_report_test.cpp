#include "sharding/redistribute/plan_report.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

PlanReport reported(const PlanRequest& request) { return report_plan(make_plan(request), request); }

PlanReport::Step only_step(const char* from, const char* to) {
  PlanRequest request{.shape = {8, 6}, .mesh_shape = {4}};
  request.from = parse_placements(from);
  request.to = parse_placements(to);
  PlanReport report = reported(request);
  EXPECT_EQ(report.steps.size(), 1u);
  return report.steps.at(0);
}

// Bytes of ring algorithms over 4 ranks: 192 in all, 48 a piece.
TEST(PlanReport, CountsBytesOfEachCollective) {
  PlanReport::Step gather = only_step("S(0)", "R");
  EXPECT_EQ(gather.collective, "all_gather");
  EXPECT_EQ(gather.bytes_per_rank, 3 * 48);
  EXPECT_EQ(gather.bytes_per_link, 3 * 48);
  PlanReport::Step scatter = only_step("P(sum)", "S(0)");
  EXPECT_EQ(scatter.collective, "reduce_scatter");
  EXPECT_EQ(scatter.bytes_per_rank, 3 * 48);
  PlanReport::Step reduce = only_step("P(sum)", "R");
  EXPECT_EQ(reduce.collective, "all_reduce");
  EXPECT_EQ(reduce.bytes_per_rank, 2 * 3 * 48);
  PlanReport::Step exchange = only_step("S(0)", "S(1)");
  EXPECT_EQ(exchange.collective, "all_to_all");
  EXPECT_EQ(exchange.bytes_per_rank, 3 * 12);
  EXPECT_EQ(exchange.bytes_per_link, 6 * 12);
  PlanReport::Step cut = only_step("R", "S(0)");
  EXPECT_EQ(cut.collective, "none");
  EXPECT_EQ(cut.bytes_per_rank, 0);
}

// Texts, placements and costs are those of the plan.
TEST(PlanReport, SpeaksOfEachStep) {
  PlanRequest request{.shape = {16, 8}, .mesh_shape = {2, 4}};
  request.from = {Shard(0), Replicate()};
  request.to = {Replicate(), Shard(1)};
  PlanReport report = reported(request);
  Plan plan = make_plan(request);
  EXPECT_EQ(report.planner, "greedy");
  EXPECT_EQ(report.cost_us, plan.cost_us);
  ASSERT_EQ(report.steps.size(), plan.steps.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    EXPECT_EQ(report.steps[i].after, to_string(plan.steps[i].after));
    EXPECT_EQ(report.steps[i].cost_us, plan.steps[i].cost_us);
  }
}

// A merged step moves the pieces of all its mesh dims at once.
TEST(PlanReport, SpeaksOfMergedSteps) {
  PlanRequest request{.shape = {8, 6}, .mesh_shape = {2, 2}};
  request.from = {Shard(0), Shard(0)};
  request.to = {Replicate(), Replicate()};
  request.flattened = {Dims{0, 1}};
  PlanReport report = reported(request);
  ASSERT_EQ(report.steps.size(), 1u);
  EXPECT_EQ(report.steps[0].text, "S(0)-->R on mesh dims 0+1");
  EXPECT_EQ(report.steps[0].bytes_per_rank, 3 * 48);
}

TEST(PlanReport, IsPrinted) {
  PlanRequest request{.shape = {4}, .mesh_shape = {2}, .from = {Shard(0)}, .to = {Replicate()}};
  std::string text = to_text(reported(request));
  EXPECT_EQ(text.rfind("planner: greedy\nS(0)->R on mesh dim 0  all_gather  8 bytes per rank", 0),
            0u)
      << text;
  std::string last = to_text(reported(request), true);
  EXPECT_EQ(last.rfind("cost: ", 0), 0u) << last;
  EXPECT_EQ(text.substr(text.size() - last.size()), last);
}

}  // namespace
}  // namespace simmesh
