#pragma once

#include <vector>

#include "core/tensor/shape.h"
#include "sharding/placement/shard_order.h"
#include "sharding/redistribute/plan.h"

namespace simmesh {

// unwind_steps plans a redistribution that is correct for every kind and order of shards. In each
// tensor dim the first shards stay that both shardings apply in the same way. All others are
// gathered, tensor dims ascending, the last applied first; then partial mesh dims that don't become
// a shard are reduced, first to last; then the target's shards are applied in their order (straight
// from a partial placement where there is one); at last R->P. It may cost more than needed, and is
// used where no better planner applies.
std::vector<PlanStep> unwind_steps(const Sharding& from, const Sharding& to,
                                   std::int64_t tensor_dims);

}  // namespace simmesh
