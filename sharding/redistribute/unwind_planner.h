#pragma once

#include <vector>

#include "core/tensor/shape.h"
#include "sharding/placement/shard_order.h"
#include "sharding/redistribute/plan.h"

namespace simmesh {

// unwind_steps plans a redistribution that is right for every kind and order of shards. Of each
// tensor dim the shards that both shardings apply first in the same way stay. All others are
// gathered, tensor dims ascending, the last applied first; then partial mesh dims that don't become
// a shard are reduced, first to last; then the target's shards are applied in their order (straight
// from a partial placement where there is one); at last R->P. It costs more than need be, and is
// used where no better planner applies.
std::vector<PlanStep> unwind_steps(const Sharding& from, const Sharding& to,
                                   std::int64_t tensor_dims);

}  // namespace simmesh
