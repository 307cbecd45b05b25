#include "sharding/redistribute/step_feasibility.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "sharding/placement/local_shape.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

std::set<std::int64_t> held(std::int64_t size, const Dims& mesh, const Dims& coordinate,
                            const Sharding& sharding) {
  std::set<std::int64_t> result;
  for (const IndexRun& run :
       local_index_runs(Dims{size}, 0, mesh, coordinate, sharding.placements, sharding.order))
    for (std::int64_t index = run.start; index < run.end(); ++index) result.insert(index);
  return result;
}

// by_sets decides with sets of indices what step_is_feasible decides with runs.
bool by_sets(std::int64_t size, const Dims& mesh, const Sharding& before, const PlanStep& step) {
  const auto mesh_dim = static_cast<std::size_t>(step.mesh_dims.front());
  Dims coordinate(mesh.size(), 0);
  do {
    std::set<std::int64_t> group;
    for (std::int64_t index = 0; index < mesh[mesh_dim]; ++index) {
      Dims member = coordinate;
      member[mesh_dim] = index;
      group.merge(held(size, mesh, member, before));
    }
    const std::set<std::int64_t> wanted = held(size, mesh, coordinate, step.after);
    if (!std::includes(group.begin(), group.end(), wanted.begin(), wanted.end())) return false;
    if (!embeds_shard(step.from, step.to)) continue;
    const std::set<std::int64_t> own = held(size, mesh, coordinate, before);
    if (!std::includes(wanted.begin(), wanted.end(), own.begin(), own.end())) return false;
  } while (next_index(coordinate, mesh));
  return true;
}

// If this fails, a step that would misplace elements passes, or a step of PyTorch's that works is
// given up.
TEST(StepFeasibility, AgreesWithSetsOfIndices) {
  const Placements alphabet = parse_placements("R,S(0),_S(0,2),_S(0,3)");
  Placements targets = alphabet;
  targets.push_back(Partial(ReduceOp::sum));
  std::size_t feasible = 0, infeasible = 0;
  for (const Dims& mesh : {Dims{2, 3}, Dims{3, 2}, Dims{2, 2, 2}}) {
    for (const Placements& list : small_worlds::lists(mesh.size(), alphabet)) {
      for (std::size_t mesh_dim = 0; mesh_dim < mesh.size(); ++mesh_dim) {
        for (const Placement& to : targets) {
          PlanStep step;
          step.mesh_dims = {static_cast<std::int64_t>(mesh_dim)};
          step.from = list[mesh_dim];
          step.to = to;
          step.after.placements = list;
          step.after.placements[mesh_dim] = to;
          for (std::int64_t size : {1, 2, 6, 7, 13, 17}) {
            const bool expected = by_sets(size, mesh, {list, {}}, step);
            EXPECT_EQ(step_is_feasible(Dims{size}, mesh, {list, {}}, step), expected)
                << to_string(list) << " mesh dim " << mesh_dim << " to " << to_string(to);
            ++(expected ? feasible : infeasible);
          }
        }
      }
    }
  }
  EXPECT_GT(feasible, 1000u);
  EXPECT_GT(infeasible, 500u);
}

// If this fails, PyTorch's plan for a tensor without elements is replaced although nothing can go
// wrong.
TEST(StepFeasibility, WithoutElementsEveryStepIs) {
  PlanStep step;
  step.mesh_dims = {0};
  step.from = StridedShard(0, 3);
  step.to = Replicate();
  step.after.placements = parse_placements("R,S(0)");
  const Sharding before{parse_placements("_S(0,3),S(0)"), {}};
  EXPECT_FALSE(step_is_feasible(Dims{17, 5}, Dims{2, 2}, before, step));
  EXPECT_TRUE(step_is_feasible(Dims{17, 0}, Dims{2, 2}, before, step));
  EXPECT_TRUE(step_is_feasible(Dims{0}, Dims{2, 2}, before, step));
}

}  // namespace
}  // namespace simmesh
