#pragma once

#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"
#include "sharding/redistribute/plan.h"

namespace simmesh::paddle {

// plan_reshard returns the steps that lead from one layout to another on one mesh, in Paddle's
// order. First P->R for each partial mesh dim that becomes neither partial (with the same
// reduction) nor a shard, first to last. Then S->R for the tensor dims whose cuts change, last to
// first, innermost cut first. Then R->P for mesh dims that become partial. Last, for the same
// tensor dims, P->S where still partial, else R->S, outermost cut first.
//
// On a mesh of one dim a change from one shard to another is one step, an all-to-all.
//
// An average is summed and then divided, for integers too. Raises a ValueError where a partial mesh
// dim would cut pieces of a tensor dim that is already cut, and doesn't divide them.
Plan plan_reshard(DimSpan shape, DimSpan mesh_shape, PlacementSpan from, PlacementSpan to);

}  // namespace simmesh::paddle
