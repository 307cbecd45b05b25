#pragma once

#include <vector>

#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"
#include "sharding/redistribute/plan.h"

namespace simmesh {

// greedy_steps plans a redistribution in two passes over the mesh dims, as PyTorch's greedy planner
// does. On a 1-D mesh it is one step. Otherwise, if the source is split over more than one rank, a
// first pass goes from the last mesh dim to the first. It changes each to its target, except that a
// Shard(d) target becomes R while the mesh dims before it that shard d are not those of the target.
// A second pass from the first mesh dim to the last does the rest. So partial mesh dims are reduced
// first to last if the source has no shard, and last to first if it has one.
//
// Shards are applied in ascending order throughout. The planner doesn't know nested strided or
// ragged shards of one tensor dim: check such steps (see step_is_feasible).
std::vector<PlanStep> greedy_steps(PlacementSpan from, PlacementSpan to, DimSpan mesh_shape);

}  // namespace simmesh
