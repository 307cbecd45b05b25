#pragma once

#include "checkpoint/catalog/box.h"
#include "sharding/placement/placement.h"

namespace simmesh::checkpoint {

// paddle_local_box returns what the rank at a coordinate of a mesh holds of a tensor, as Paddle's
// checkpoints have it. They number an empty piece of a dim that is cut twice from the begin of the
// piece it was cut from, where that is the second one, and else from the tensor's begin. Takes
// Replicate, Partial and Shard, one a mesh dim; raises a ValueError for another kind of shard.
Box paddle_local_box(DimSpan shape, DimSpan mesh_shape, DimSpan coordinate,
                     PlacementSpan placements);

}  // namespace simmesh::checkpoint
