#pragma once

#include "sharding/strategies/strategy.h"
#include "sharding/strategies/view_map.h"

namespace simmesh {

// ViewCall is a view of a tensor of one shape as another. A strict one must not communicate: it
// raises a RuntimeError, as PyTorch's `view` does, where a plain shard would have to move.
struct ViewCall {
  const Shape& from;
  const Shape& to;
  const ViewMap& map;
  bool is_strict = false;
};

// viewed_placements returns the placements that the input of a view needs, and those of its output.
// Mesh dims are followed one by one, each on the piece that the ones before it left:
//   - a shard of a dim that stays goes with it, and so do Partial placements;
//   - of merged dims, a shard of the first one stays a shard, one of a later one becomes a strided
//     shard, whose factor is the number of its rows in the piece; a dim before the last must be cut
//     into equal parts;
//   - of a dim that is cut apart, a shard goes to the first part, which it must cut into equal
//     ones; a strided shard goes to the part in which it is a plain one, or stays strided;
//   - a ragged shard stays where its units are whole rows of the output.
// Every other shard is gathered, as is a MaskPartial, whose mask has the shape of the input.
MeshCandidate viewed_placements(const MeshRequest& request, const ViewCall& view);

}  // namespace simmesh
