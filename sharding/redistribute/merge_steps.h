#pragma once

#include <vector>

#include "core/tensor/shape.h"
#include "sharding/placement/shard_order.h"
#include "sharding/redistribute/plan.h"

namespace simmesh {

// merge_steps turns runs of neighbouring steps into one collective each over a flattened mesh. A
// run is as long as possible: steps of one kind (all-gather, reduce-scatter or all-reduce) with
// equal placements, where sum and avg count as equal. It is merged as a whole or not at all, if
//
//   - one of `flattened` (lists of mesh dims) names exactly its mesh dims, those of size 1 aside;
//   - an all-gather's mesh dims are strictly descending, a reduce-scatter's strictly ascending;
//   - the size that a reduce-scatter cuts is divisible, on every rank, by the number of ranks that
//     share it. An all-gather may be uneven: it concatenates the actual pieces.
//
// Where averages are among the merged steps, the step sums and then divides once by the product of
// their mesh sizes. The steps start from the sharding `from`, are on one mesh dim each, and have
// their costs. Raises a ValueError where `flattened` names a mesh dim twice or one that isn't
// there.
std::vector<PlanStep> merge_steps(std::vector<PlanStep> steps, const Sharding& from,
                                  DimSpan global_shape, DimSpan mesh_shape,
                                  gsl::span<const Dims> flattened);

}  // namespace simmesh
