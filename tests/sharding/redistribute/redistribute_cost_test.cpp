#include "sharding/redistribute/redistribute_cost.h"

#include <gtest/gtest.h>
#include <limits>

#include "sharding/redistribute/graph_planner.h"
#include "sharding/redistribute/greedy_planner.h"

namespace simmesh {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
const Dims two_by_four{2, 4};
const Topology topology{.devices_per_host = 4};
const Link outer = topology.link(two_by_four, 0), inner = topology.link(two_by_four, 1);
constexpr double bytes = 1 << 20;

double step(const char* before, std::int64_t mesh_dim, const char* to) {
  const auto list = parse_placements(before);
  return RedistributeCost(bytes, two_by_four, topology)
      .step_us(list, mesh_dim, list[static_cast<std::size_t>(mesh_dim)], parse_placement(to));
}

// If this fails, a step on its own has another price than the documented one.
TEST(RedistributeCost, StepsArePricedByTheirCollective) {
  EXPECT_EQ(step("S(0),S(1)", 1, "R"), topology.all_gather_us(bytes / 8 * 4, 4, inner));
  EXPECT_EQ(step("S(0),S(1)", 0, "S(1)"), topology.all_to_all_us(bytes / 8, 2, outer));
  EXPECT_EQ(step("P(sum),S(1)", 0, "R"), topology.all_reduce_us(bytes / 4, 2, outer));
  EXPECT_EQ(step("P(sum),S(1)", 0, "S(0)"), topology.reduce_scatter_us(bytes / 4, 2, outer));
  EXPECT_EQ(step("R,S(1)", 0, "S(0)"), 0.0);
  EXPECT_EQ(step("R,S(1)", 0, "P(sum)"), 0.0);
  EXPECT_EQ(step("R,S(1)", 1, "P(sum)"), infinite);
  EXPECT_EQ(step("P(sum),R", 0, "P(max)"), infinite);
}

// If this fails, strided shards look free, as they do in PyTorch, and plans through them win
// wrongly.
TEST(RedistributeCost, StridedShardsCostTheirWayThroughReplicate) {
  EXPECT_EQ(step("_S(0,2),R", 0, "R"), topology.all_gather_us(bytes / 2 * 2, 2, outer));
  EXPECT_EQ(step("_S(0,2),R", 0, "S(0)"), topology.all_gather_us(bytes / 2 * 2, 2, outer));
  EXPECT_EQ(step("P(sum),R", 0, "_S(0,2)"), topology.all_reduce_us(bytes, 2, outer));
  EXPECT_EQ(step("R,R", 0, "_S(0,2)"), 0.0);
}

// If this fails, ops are run on other placements than PyTorch's where a view has made a strided
// shard.
TEST(RedistributeCost, StridedShardsMayBeFree) {
  const RedistributeCost cost(bytes, two_by_four, topology, RedistributeCost::StridedShards::free);
  const auto step_us = [&](const char* before, const char* to) {
    const auto list = parse_placements(before);
    return cost.step_us(list, 0, list[0], parse_placement(to));
  };
  EXPECT_EQ(step_us("_S(0,2),R", "R"), 0.0);
  EXPECT_EQ(step_us("_S(0,2),R", "S(1)"), 0.0);
  EXPECT_EQ(step_us("R,R", "_S(0,2)"), 0.0);
  EXPECT_EQ(step_us("S(0),R", "R"), topology.all_gather_us(bytes / 2 * 2, 2, outer));
  // The bytes stay those of the strided piece.
  const auto from = parse_placements("_S(0,2),S(1)");
  const auto steps =
      graph_steps({from, {}}, {parse_placements("R,R"), {}}, 2, two_by_four, cost, false);
  EXPECT_EQ(cost.plan_us(from, steps), topology.all_gather_us(bytes / 8 * 4, 4, inner));
}

double whole(const char* from, const char* to) {
  const auto source = parse_placements(from);
  return RedistributeCost(bytes, two_by_four, topology)
      .plan_us(source, greedy_steps(source, parse_placements(to), two_by_four));
}

// If this fails, the bytes are not carried from step to step.
TEST(RedistributeCost, PlansCarryTheBytesAlong) {
  EXPECT_EQ(whole("S(0),S(0)", "R,R"), topology.all_gather_us(bytes / 8 * 4, 4, inner) +
                                           topology.all_gather_us(bytes / 8 * 4 * 2, 2, outer));
  EXPECT_EQ(whole("P(sum),P(sum)", "S(0),R"), topology.reduce_scatter_us(bytes, 2, outer) +
                                                  topology.all_reduce_us(bytes / 2, 4, inner));
  EXPECT_EQ(whole("R,P(sum)", "S(0),R"), topology.all_reduce_us(bytes / 2, 4, inner));
  EXPECT_EQ(whole("R,R", "S(0),P(sum)"), 0.0);
  EXPECT_EQ(whole("S(0),R", "P(sum),R"), infinite);
}

// If this fails, the graph planner's pruning drops paths that could win: the floor must not exceed
// any collective's price.
TEST(RedistributeCost, TheFloorIsBelowEveryCollective) {
  const RedistributeCost cost(bytes, two_by_four, topology);
  const auto list = parse_placements("S(0),P(sum)");
  EXPECT_LE(cost.floor_us(0), cost.step_us(list, 0, list[0], Replicate()));
  EXPECT_LE(cost.floor_us(0), cost.step_us(list, 0, list[0], Shard(1)));
  EXPECT_LE(cost.floor_us(1), cost.step_us(list, 1, list[1], Replicate()));
  EXPECT_LE(cost.floor_us(1), cost.step_us(list, 1, list[1], Shard(1)));
}

}  // namespace
}  // namespace simmesh
