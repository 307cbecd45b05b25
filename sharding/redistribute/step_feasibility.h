#pragma once

#include "core/tensor/shape.h"
#include "sharding/placement/shard_order.h"
#include "sharding/redistribute/plan.h"

namespace simmesh {

// step_is_feasible is true if a step on one mesh dim can be carried out exactly with data of the
// step's own groups: at every coordinate and in every tensor dim, each index of the piece after the
// step is in the piece that some member of its group holds before. It is false where a step moves a
// shard that is not the innermost one of its tensor dim. Where a shard is embedded, each rank's
// piece must also be part of its own piece after the step.
//
// A tensor without elements has nothing to misplace: every step of it is feasible. Time grows with
// the number of ranks along the mesh dims that split a tensor dim of the step.
bool step_is_feasible(DimSpan global_shape, DimSpan mesh_shape, const Sharding& before,
                      const PlanStep& step);

// plan_is_feasible is true if all (unmerged) steps from a sharding are feasible.
bool plan_is_feasible(DimSpan global_shape, DimSpan mesh_shape, const Sharding& from,
                      gsl::span<const PlanStep> steps);

}  // namespace simmesh
