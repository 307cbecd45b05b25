#include "sharding/redistribute/plan_cache.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "sharding/redistribute/redistribute_refusals.h"
#include "tests/expect_error.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

const Placements kinds = {Shard(0), Shard(1), Replicate(), StridedShard(0, 2), Partial()};

// requests lists more requests than the cache holds.
std::vector<PlanRequest> requests() {
  std::vector<PlanRequest> result;
  for (const Placements& from : small_worlds::lists(2, kinds))
    for (const Placements& to : small_worlds::lists(2, kinds))
      for (PlannerChoice planner : {PlannerChoice::automatic, PlannerChoice::graph})
        for (DType dtype : {DType::float32, DType::float64}) {
          PlanRequest request{.shape = {7, 5}, .dtype = dtype, .mesh_shape = {2, 3}};
          request.from = from;
          request.to = to;
          request.planner = planner;
          try {
            validate_redistribute(request);
            validate_steps(make_plan(request), request);
          } catch (const Error&) {
            continue;
          }
          result.push_back(request);
        }
  return result;
}

// A cache that answers with a plan of another request, or plans that depend on earlier plans.
TEST(PlanCache, PlansDoNotDependOnHistory) {
  std::vector<PlanRequest> all = requests();
  ASSERT_GT(all.size(), PlanCache::plans_max);
  PlanCache used;
  for (const PlanRequest& request : all) used.find_or_make(request);
  EXPECT_EQ(used.size(), PlanCache::plans_max);
  for (int round = 0; round < 2; ++round)
    for (const PlanRequest& request : all) {
      PlanCache fresh;
      Plan plan = make_plan(request);
      EXPECT_EQ(used.find_or_make(request)->plan, plan);
      EXPECT_EQ(fresh.find_or_make(request)->plan, plan);
    }
  EXPECT_EQ(used.size(), PlanCache::plans_max);
}

// Every field of a request counts: the same key for two of them would give a wrong plan.
TEST(PlanCache, TellsEveryFieldApart) {
  PlanRequest base{.shape = {8, 6}, .mesh_shape = {2, 2}};
  base.from = {Shard(0), Shard(0)};
  base.to = {Replicate(), Replicate()};
  std::vector<PlanRequest> changed(10, base);
  changed[1].shape = {6, 8};
  changed[2].dtype = DType::int64;
  changed[3].mesh_shape = {4, 2};
  changed[4].from = {Shard(1), Shard(0)};
  changed[5].to = {Replicate(), Shard(0)};
  changed[6].from_order = ShardOrder::of({{0, {1, 0}}}, base.from);
  changed[7].flattened = {Dims{0, 1}};
  changed[8].topology.devices_per_host = 8;
  changed[9].release = Release::v2_13;
  PlanCache cache;
  for (const PlanRequest& request : changed) cache.find_or_make(request);
  EXPECT_EQ(cache.misses(), 10u);
  for (const PlanRequest& request : changed)
    EXPECT_EQ(cache.find_or_make(request)->plan, make_plan(request));
  EXPECT_EQ(cache.hits(), 10u);
  EXPECT_EQ(cache.misses(), 10u);
  ASSERT_EQ(cache.plans().size(), 10u);
  EXPECT_EQ(cache.plans().front()->request.release, Release::v2_13);
}

// A kept failure would grow the cache, or answer later without an error.
TEST(PlanCache, KeepsNoFailures) {
  PlanRequest request{.shape = {8}, .mesh_shape = {2}};
  request.from = {Shard(0)};
  request.to = {Partial(ReduceOp::max)};
  PlanCache cache;
  for (int i = 0; i < 2; ++i)
    testing::expect_error([&] { cache.find_or_make(request); }, ErrorKind::runtime_error, "");
  EXPECT_EQ(cache.size(), 0u);
}

// Ranks that ask in different orders would deadlock on different plans.
TEST(PlanCache, EveryRankGetsTheSamePlans) {
  std::vector<PlanRequest> all = requests();
  std::vector<std::vector<Plan>> plans(4, std::vector<Plan>(all.size()));
  World world({.ranks = 4});
  Outcome outcome = world.run([&](Rank& rank) {
    PlanCache own;
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::size_t at = (i + rank.id() * 101) % all.size();
      plans[rank.id()][at] = own.find_or_make(all[at])->plan;
    }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  for (std::size_t rank = 1; rank < 4; ++rank) EXPECT_TRUE(plans[rank] == plans[0]) << rank;
}

}  // namespace
}  // namespace simmesh
