#pragma once

#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"
#include "sharding/placement/shard_order.h"
#include "sharding/placement/shard_rule.h"

namespace simmesh {

// LocalShape is the part of a tensor that one rank holds. The offset is the first global index of
// each dim; in a dim of which the rank holds nothing it is the dim's global size.
struct LocalShape {
  Shape shape;
  Dims offset;

  bool operator==(const LocalShape&) const = default;
};

// compute_local_shape_and_global_offset returns the piece of the rank at `coordinate`. Placements
// apply from the first mesh dim to the last (or in the given shard order), each to the piece that
// the one before left. Plain shards of tensors of up to six dims need no memory from the heap.
//
// `placements` and `coordinate` have one entry per mesh dim. Raises a ValueError where they don't,
// or where a coordinate is outside the mesh, an IndexError where a shard's dim is outside the
// tensor, and an AssertionError where a tensor without dims is split. Shard dims count from the
// front.
LocalShape compute_local_shape_and_global_offset(DimSpan global_shape, DimSpan mesh_shape,
                                                 DimSpan coordinate, PlacementSpan placements,
                                                 const ShardOrder& order = {});

// local_index_runs returns the global indices of `tensor_dim` that the rank at `coordinate` holds,
// in local order. Raises as above.
IndexRuns local_index_runs(DimSpan global_shape, std::int64_t tensor_dim, DimSpan mesh_shape,
                           DimSpan coordinate, PlacementSpan placements,
                           const ShardOrder& order = {});

// same_pieces is true if two shardings give every rank the same indices in the same local order.
// For a tensor without elements only the local shapes are compared. Its time grows with the number
// of ranks along the mesh dims that split a tensor dim, where the two shardings split it in
// different ways.
bool same_pieces(DimSpan global_shape, DimSpan mesh_shape, const Sharding& left,
                 const Sharding& right);

// check_sharding raises a ValueError unless there is one placement a mesh dim, and checks the shard
// dims as above.
void check_sharding(PlacementSpan placements, DimSpan global_shape, DimSpan mesh_shape);

}  // namespace simmesh
