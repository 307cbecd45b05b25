#include "sharding/propagation/candidates.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/ops/registry/registry.h"
#include "sharding/redistribute/planner.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

// The price by which a candidate is chosen isn't that of the plan which is then carried out; or a
// bound that is above a price hides the cheapest candidate.
TEST(CandidateCosts, AreThoseOfThePlansAndNotBelowTheirBounds) {
  Placements alphabet = {Replicate(), Shard(0), Shard(1), StridedShard(0, 2), Partial()};
  for (const Placements& from : small_worlds::lists(2, alphabet))
    for (const Placements& to : small_worlds::lists(2, alphabet)) {
      PropagationRequest request{.op = find_op("neg"),
                                 .inputs = {{{8, 6}}},
                                 .given = {Sharding{from, {}}},
                                 .mesh_shape = {2, 3}};
      CandidateCosts costs(request);
      double cost = costs.cost_us(0, to);
      EXPECT_EQ(cost, costs.cost_us(0, to));
      if (from == to) {
        EXPECT_EQ(cost, 0.0);
      } else if (std::isfinite(cost)) {
        PlanRequest plan{.shape = {8, 6}, .mesh_shape = {2, 3}, .from = from, .to = to};
        plan.planner = PlannerChoice::as_operand;
        EXPECT_EQ(cost, make_plan(plan).cost_us);
      }
      double floor = costs.floor_us(0, 0, to[0]) + costs.floor_us(0, 1, to[1]);
      EXPECT_LE(floor * (1 - 1e-12), cost) << to_string(from) << " to " << to_string(to);
    }
}

// An op is run on parts that PyTorch doesn't make, or at a price for something else.
TEST(CandidateCosts, ShardsDontBecomePartial) {
  PropagationRequest request{.op = find_op("neg"),
                             .inputs = {{{8, 6}}},
                             .given = {Sharding{{Shard(0), Replicate()}, {}}},
                             .mesh_shape = {2, 2}};
  CandidateCosts costs(request);
  Placement lookup = MaskPartial(ReduceOp::sum, Shape{8, 6}, 0);
  EXPECT_TRUE(std::isinf(costs.cost_us(0, {lookup, Replicate()})));
  EXPECT_TRUE(std::isinf(costs.cost_us(0, {Partial(), Replicate()})));
  EXPECT_EQ(costs.cost_us(0, {Shard(0), lookup}), 0.0);
}

// An order of shards gets lost, or is given to mesh dims that split nothing together.
TEST(CandidateCosts, ShardsKeepTheOrderOfTheInputs) {
  PropagationRequest request{.op = find_op("neg"),
                             .inputs = {{{8, 6}}},
                             .given = {Sharding{{Shard(0), Shard(0)}, {}}},
                             .mesh_shape = {2, 2}};
  Placements columns = {Shard(1), Shard(1)};
  EXPECT_TRUE(sharding_of(columns, request).order.is_ascending());
  request.given[0]->order =
      ShardOrder::of({{.tensor_dim = 0, .mesh_dims = {1, 0}}}, request.given[0]->placements);
  EXPECT_EQ(*sharding_of(columns, request).order.entry(1), (Dims{1, 0}));
  EXPECT_TRUE(sharding_of({Shard(0), Shard(1)}, request).order.is_ascending());
}

}  // namespace
}  // namespace simmesh
