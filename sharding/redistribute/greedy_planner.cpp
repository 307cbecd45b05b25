#include "sharding/redistribute/greedy_planner.h"

#include "sharding/redistribute/redistribute_cost.h"

namespace simmesh {
namespace {

// same_outer_shards is true if the same mesh dims before mesh_dim shard tensor_dim.
bool same_outer_shards(PlacementSpan left, PlacementSpan right, std::size_t mesh_dim,
                       std::int64_t tensor_dim) {
  for (std::size_t outer = 0; outer < mesh_dim; ++outer)
    if (left[outer].is_shard(tensor_dim) != right[outer].is_shard(tensor_dim)) return false;
  return true;
}

}  // namespace

std::vector<PlanStep> greedy_steps(PlacementSpan from, PlacementSpan to, DimSpan mesh_shape) {
  std::vector<PlanStep> steps;
  Placements current(from.begin(), from.end());
  const auto move = [&](std::size_t mesh_dim, const Placement& target) {
    if (current[mesh_dim] == target) return;
    PlanStep step;
    step.mesh_dims.push_back(static_cast<std::int64_t>(mesh_dim));
    step.from = current[mesh_dim];
    step.to = target;
    current[mesh_dim] = target;
    step.after.placements = current;
    steps.push_back(std::move(step));
  };
  if (mesh_shape.size() > 1 && shard_count(from, mesh_shape) > 1) {
    for (std::size_t mesh_dim = mesh_shape.size(); mesh_dim-- > 0;) {
      const Placement& target = to[mesh_dim];
      const bool misaligned =
          target.is_shard() && !same_outer_shards(current, to, mesh_dim, target.dim());
      move(mesh_dim, misaligned ? Replicate() : target);
    }
  }
  for (std::size_t mesh_dim = 0; mesh_dim < mesh_shape.size(); ++mesh_dim)
    move(mesh_dim, to[mesh_dim]);
  return steps;
}

}  // namespace simmesh
