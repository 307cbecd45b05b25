#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "collectives/comm_debug_mode.h"
#include "collectives/process_group.h"
#include "core/autograd/backward.h"
#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/redistribute/planner.h"
#include "sharding/redistribute/redistribute_refusals.h"
#include "testing/gtest.h"
#include "tests/every_schedule.h"

// Plain shards that are embedded in zeros to become a partial sum.
namespace simmesh {
namespace {

std::string plan_or_refusal(const char* from, const char* to, PlannerChoice planner,
                            Release release, bool is_public) {
  const PlanRequest request{.shape = {8, 8},
                            .mesh_shape = {2, 2},
                            .from = parse_placements(from),
                            .to = parse_placements(to),
                            .planner = planner,
                            .release = release};
  try {
    if (is_public) validate_redistribute(request);
    const Plan plan = make_plan(request);
    validate_steps(plan, request);
    std::string text;
    for (const PlanStep& step : plan.steps) text += to_string(step) + "; ";
    return text;
  } catch (const Error& error) {
    return fmt::format("{}: {}", to_string(error.kind()), error.message());
  }
}

// The rows are what PyTorch 2.13.0 and 2.15.0 do.
TEST(ReleaseChanges, ShardToPartialSum) {
  struct Row {
    bool is_public;
    PlannerChoice planner;
    const char *from, *to, *before, *after;
  };
  const auto greedy = PlannerChoice::greedy, graph = PlannerChoice::graph;
  const std::vector<Row> rows = {
      {true, greedy, "S(0),R", "P(sum),R",
       "RuntimeError: Can not redistribute from S(0) to P(sum) on mesh dim 0, redistributing to "
       "Partial is for internal use only!",
       "S(0)->P(sum) on mesh dim 0; "},
      {true, greedy, "R,R", "R,P(sum)",
       "RuntimeError: Can not redistribute from R to P(sum) on mesh dim 1, redistributing to "
       "Partial is for internal use only!",
       "RuntimeError: Can not redistribute from R to P(sum) on mesh dim 1, only Shard to "
       "Partial(sum) redistribution is supported!"},
      {true, greedy, "_S(0,2),S(0)", "P(sum),R",
       "RuntimeError: Can not redistribute from _S(0,2) to P(sum) on mesh dim 0, redistributing to "
       "Partial is for internal use only!",
       "RuntimeError: Can not redistribute from _S(0,2) to P(sum) on mesh dim 0, only Shard to "
       "Partial(sum) redistribution is supported!"},
      {false, greedy, "S(0),R", "P(avg),R",
       "RuntimeError: redistributing mesh dim 0 from S(0) to P(avg) is not supported yet",
       "RuntimeError: redistributing mesh dim 0 from S(0) to P(avg) is not supported yet"},
      {false, greedy, "S(0),S(0)", "P(sum),P(sum)",
       "RuntimeError: redistributing mesh dim 1 from S(0) to P(sum) is not supported yet",
       "S(0)->P(sum) on mesh dim 1; S(0)->P(sum) on mesh dim 0; "},
      {false, greedy, "S(0),S(0)", "P(sum),S(0)",
       "RuntimeError: redistributing mesh dim 0 from S(0) to P(sum) is not supported yet",
       "S(0)->R on mesh dim 1; S(0)->P(sum) on mesh dim 0; R->S(0) on mesh dim 1; "},
      {false, graph, "S(0),R", "P(sum),R", "S(0)->R on mesh dim 0; R->P(sum) on mesh dim 0; ",
       "S(0)->P(sum) on mesh dim 0; "},
      {false, graph, "P(avg),R", "P(sum),S(0)",
       "R->S(0) on mesh dim 1; P(avg)->R on mesh dim 0; R->P(sum) on mesh dim 0; ",
       "R->S(0) on mesh dim 1; P(avg)->S(0) on mesh dim 0; S(0)->P(sum) on mesh dim 0; "},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} to {}", row.from, row.to));
    EXPECT_EQ(plan_or_refusal(row.from, row.to, row.planner, Release::v2_13, row.is_public),
              row.before);
    EXPECT_EQ(plan_or_refusal(row.from, row.to, row.planner, Release::v2_15, row.is_public),
              row.after);
  }
}

// A redistribution to a partial sum is never the cheapest way to anything, so no strategy takes it.
TEST(ShardToPartial, CostsNothingInTheSearchAndInfinityToStrategies) {
  const PlanRequest request{.shape = {8},
                            .mesh_shape = {2},
                            .from = parse_placements("S(0)"),
                            .to = parse_placements("P(sum)")};
  const Plan plan = make_plan(request);
  ASSERT_EQ(plan.steps.size(), 1);
  EXPECT_EQ(plan.steps[0].cost_us, 0.0);
  EXPECT_EQ(plan.cost_us, std::numeric_limits<double>::infinity());
  EXPECT_EQ(collective_of(plan.steps[0], request.mesh_shape), Collective::none);
}

// Zeros that are written over, not added to, would keep -0.
SIMMESH_TEST(ShardToPartial, AddsTheShardToZeros, {.mesh = {3}}) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> expected = {
      {0, nan, 0, 0, 0}, {0, 0, 3, 0, 0}, {0, 0, 0, 0, 5}};
  Tensor full = tensor_of<float>({5}, {-0.0f, nan, 3, -0.0f, 5});
  CommDebugMode collectives;
  DTensor x = distribute_tensor(full, mesh, {Shard(0)}, {.from_first_rank = false});
  DTensor sum = x.redistribute({Partial(ReduceOp::sum)});
  SIMMESH_CHECK(collectives.get_total_counts() == 0, "a local step communicates");
  Tensor local = sum.to_local();
  auto values = local.values<float>();
  for (std::size_t i = 0; i < 5; ++i) {
    float want = expected[std::size_t(mesh.get_rank())][i];
    SIMMESH_CHECK(std::isnan(want) ? std::isnan(values[i]) : values[i] == want, "element {}", i);
    SIMMESH_CHECK(!std::signbit(values[i]) || std::isnan(want), "element {} is -0", i);
  }
}

SIMMESH_TEST(ShardToPartial, EmbedsBoolsAndEmptyShards, {.mesh = {4}}) {
  Tensor full = to(tensor_of<std::int64_t>({2, 2}, {1, 0, 1, 1}), DType::boolean);
  DTensor x = distribute_tensor(full, mesh, {Shard(0)}, {.from_first_rank = false});
  DTensor sum = x.redistribute({Partial(ReduceOp::sum)});
  std::int64_t rank = mesh.get_rank();
  EXPECT_SAME_BITS(to(sum.to_local(), DType::int64),
                   tensor_of<std::int64_t>({2, 2}, {rank == 0, 0, rank == 1, rank == 1}));
  EXPECT_SAME_BITS(sum.full_tensor(), full);
}

// A gradient in R is cut; a partial one is reduced to the shard.
SIMMESH_TEST(ShardToPartial, BringsTheGradientBack, {.mesh = {2}}) {
  for (bool is_partial : {false, true}) {
    DTensor x = distribute_tensor(tensor_of<float>({3}, {1, 2, 3}), mesh, {Shard(0)});
    x.set_requires_grad();
    ToLocalOptions options;
    if (is_partial) options.grad_placements = Placements{Partial(ReduceOp::sum)};
    Tensor y = x.redistribute({Partial(ReduceOp::sum)}).to_local(options);
    backward(y, {.gradients = {tensor_of<float>({3}, {1, 10, 100})}});
    float times = is_partial ? 2 : 1;
    Tensor own = mesh.get_rank() == 0 ? tensor_of<float>({2}, {times, 10 * times})
                                      : tensor_of<float>({1}, {100 * times});
    SIMMESH_CHECK(x.grad()->placements() == Placements{Shard(0)}, "the gradient lies elsewhere");
    EXPECT_SAME_BITS(x.grad()->local(), own);
  }
}

SIMMESH_TEST(ShardToPartial, DoesNothingOnAMeshDimOfSizeOne, {.mesh = {1, 2}}) {
  Tensor full = tensor_of<float>({2}, {-0.0f, 1});
  DTensor x = distribute_tensor(full, mesh, {Shard(0), Replicate()});
  DTensor sum = x.redistribute({Partial(ReduceOp::sum), Replicate()});
  EXPECT_SAME_BITS(sum.to_local(), full);
}

// The unrounded sums of a partial sum's shard go along: one device rounds once.
SIMMESH_TEST(ShardToPartial, KeepsSumsUnrounded,
             {.mesh = {2, 2}, .arithmetic = Arithmetic::exact()}) {
  const Placement sum = Partial(ReduceOp::sum);
  float part = mesh.get_rank() == 0 ? 1.0f : 0x1p-24f;
  DTensor x = from_local(full({2}, DType::float32, part), mesh, {sum, sum});
  DTensor embedded = x.redistribute({Shard(0), sum}).redistribute({sum, sum});
  EXPECT_SAME_BITS(embedded.full_tensor(), full({2}, DType::float32, 1 + 0x1p-22));
}

// Walk is a chain of random shardings, from one without partial sums back to replicas.
struct Walk {
  Dims mesh;
  Shape shape;
  DType dtype;
  std::vector<Sharding> shardings;
};

ShardOrder random_order(const Placements& placements, std::int64_t tensor_dims,
                        std::mt19937_64& random) {
  std::vector<ShardOrder::Entry> entries;
  for (std::int64_t dim = 0; dim < tensor_dims; ++dim) {
    Dims order = ShardOrder().mesh_dims(dim, placements);
    std::shuffle(order.begin(), order.end(), random);
    if (!order.empty()) entries.push_back({dim, order});
  }
  return ShardOrder::of(std::move(entries), placements);
}

Walk random_walk(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto below = [&](std::size_t n) { return std::size_t(random() % n); };
  const Dims meshes[] = {{2}, {3}, {4}, {2, 2}, {2, 3}, {3, 1}, {2, 2, 2}};
  const std::int64_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 13};
  Walk walk{.mesh = meshes[below(7)], .dtype = all_dtypes[below(std::size(all_dtypes))]};
  for (std::size_t dims = 1 + below(3); walk.shape.size() < dims;)
    walk.shape.push_back(sizes[below(8)]);
  Placements last(walk.mesh.size(), Replicate());
  for (int step = 0; step < 5; ++step) {
    Placements next;
    for (const Placement& from : last) {
      // A replica becomes a partial sum by a division, which integers don't have.
      bool can_wait = step > 0 && (is_floating_point(walk.dtype) || !from.is_replicate());
      std::size_t kind = below(can_wait ? 3 : 2);
      if (kind == 0) next.push_back(Replicate());
      if (kind == 1) next.push_back(Shard(std::int64_t(below(walk.shape.size()))));
      if (kind == 2) next.push_back(Partial(ReduceOp::sum));
    }
    ShardOrder order;
    if (below(3) == 0) order = random_order(next, std::int64_t(walk.shape.size()), random);
    walk.shardings.push_back({next, order});
    last = next;
  }
  walk.shardings.push_back({Placements(walk.mesh.size(), Replicate()), {}});
  return walk;
}

std::int64_t embedded_shards(const Walk& walk) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < walk.shardings.size(); ++i)
    for (std::size_t dim = 0; dim < walk.mesh.size(); ++dim)
      count +=
          embeds_shard(walk.shardings[i - 1].placements[dim], walk.shardings[i].placements[dim]);
  return count;
}

// Multiples of 24 are divided by any of these numbers of ranks without rounding, and small enough
// for every dtype to add them up.
Tensor elements(const Shape& shape, DType dtype) {
  Tensor result = empty(shape, DType::int64);
  std::int64_t number = 0;
  for (std::int64_t& value : result.mutable_values<std::int64_t>()) value = number++ % 5 * 24;
  return to(result, dtype);
}

void take(const Walk& walk, Rank& rank) {
  Tensor full = elements(walk.shape, walk.dtype);
  DeviceMesh mesh = init_device_mesh(walk.mesh);
  for (PlannerChoice planner : {PlannerChoice::automatic, PlannerChoice::graph}) {
    DTensor x = distribute_tensor(full, mesh, walk.shardings[0].placements,
                                  {.from_first_rank = false, .order = walk.shardings[0].order});
    for (std::size_t i = 1; i < walk.shardings.size(); ++i) {
      const Sharding& to = walk.shardings[i];
      x = x.redistribute_local(to.placements, {.planner = planner, .order = to.order});
      EXPECT_SAME_BITS(x.full_tensor(), full);
    }
    rank.record(x.to_local());
  }
}

// A shard that is put at the wrong place, or that is added twice.
TEST(ShardToPartial, IsReducedToTheSource) {
  std::int64_t embedded = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Walk walk = random_walk(seed);
    embedded += embedded_shards(walk);
    SCOPED_TRACE(fmt::format("seed {}: {} of {} on {}", seed, to_string(walk.dtype),
                             to_string(walk.shape), to_string(walk.mesh)));
    run_every_schedule(std::size_t(numel(walk.mesh)), [&](Rank& rank) { take(walk, rank); });
  }
  EXPECT_GT(embedded, 50);
}

}  // namespace
}  // namespace simmesh
