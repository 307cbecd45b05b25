#include "checkpoint/paddle/local_box.h"

#include "core/check/error.h"
#include "core/tensor/chunk.h"

namespace simmesh::checkpoint {

Box paddle_local_box(DimSpan shape, DimSpan mesh_shape, DimSpan coordinate,
                     PlacementSpan placements) {
  if (placements.size() != mesh_shape.size() || coordinate.size() != mesh_shape.size())
    raise(ErrorKind::value_error, "checkpoint/paddle", "{} placements for a mesh of {} dims",
          placements.size(), mesh_shape.size());
  Box box = whole(shape);
  for (std::size_t i = 0; i < mesh_shape.size(); ++i) {
    const Placement& placement = placements[i];
    if (!placement.splits()) continue;
    if (!placement.is_shard() || placement.dim() >= std::int64_t(shape.size()))
      raise(ErrorKind::value_error, "checkpoint/paddle",
            "expected Replicate, Partial, or Shard of a dim of {}, got {}", to_string(shape),
            to_string(placement));
    auto dim = std::size_t(placement.dim());
    Chunk chunk =
        chunk_of({.size = box.sizes[dim], .parts = mesh_shape[i], .index = coordinate[i]});
    // Only an empty piece can have an offset that isn't after the new one. It is replaced.
    std::int64_t& offset = box.offsets[dim];
    offset = offset <= chunk.start ? chunk.start : offset + chunk.start;
    box.sizes[dim] = chunk.length;
  }
  return box;
}

}  // namespace simmesh::checkpoint
