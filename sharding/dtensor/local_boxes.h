#pragma once

#include <vector>

#include "sharding/placement/dtensor_spec.h"

namespace simmesh {

// LocalBox is a part of a rank's piece whose indices are contiguous in the whole tensor too.
struct LocalBox {
  Shape shape;
  Dims local_offset;   // in the piece
  Dims global_offset;  // in the tensor
};

// local_boxes cuts this rank's piece of a tensor into boxes: one for plain shards, none for a piece
// without elements, several where a dim is split with a stride.
std::vector<LocalBox> local_boxes(const DTensorSpec& spec);

// The same for the piece of the rank at a coordinate of the mesh.
std::vector<LocalBox> local_boxes(const DTensorSpec& spec, DimSpan coordinate);

}  // namespace simmesh
