#pragma once

#include <gsl/span>
#include <vector>

#include "checkpoint/catalog/box.h"

namespace simmesh::checkpoint {

// BoxRead is a part of a stored chunk that a rank needs.
struct BoxRead {
  std::size_t chunk = 0;
  Dims from;  // in the chunk
  Dims to;    // in the box that is loaded
  Shape sizes;

  bool operator==(const BoxRead&) const = default;
};

// plan_reads returns what to read to fill a box of a tensor: its intersections with the stored
// chunks, in the order of torch.distributed.checkpoint: by the chunks' ends along the dim of the
// largest extent, then by their place in the list. Nothing for a box without elements. All boxes
// have the same dims.
std::vector<BoxRead> plan_reads(const Box& wanted, gsl::span<const Box> chunks);

}  // namespace simmesh::checkpoint
