#pragma once

#include "checkpoint/catalog/box.h"
#include "sharding/placement/placement.h"

namespace simmesh::checkpoint {

// paddle_local_box returns the box of a tensor on the rank at a coordinate of a mesh, as Paddle's
// checkpoints have it. In a dim that is cut twice, they count the offset of an empty piece from the
// begin of the piece it was cut from, if that is the second one, else from the tensor's begin.
// There is one placement a mesh dim: Replicate, Partial or Shard. Raises a ValueError for other
// kinds of shards.
Box paddle_local_box(DimSpan shape, DimSpan mesh_shape, DimSpan coordinate,
                     PlacementSpan placements);

}  // namespace simmesh::checkpoint
