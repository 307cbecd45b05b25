#pragma once

#include <gsl/span>
#include <vector>

#include "checkpoint/catalog/box.h"

namespace simmesh::checkpoint {

// BoxRead is a part of a stored chunk that a rank needs.
struct BoxRead {
  std::size_t chunk = 0;
  Dims from;  // offsets in the chunk
  Dims to;    // offsets in the loaded box
  Shape sizes;

  bool operator==(const BoxRead&) const = default;
};

// plan_reads returns the reads that fill a box of a tensor: its intersections with the stored
// chunks. They have the order of torch.distributed.checkpoint: by the chunks' ends along the dim of
// the largest extent, then by their place in the list. A box without elements has no reads. All
// boxes have equally many dims.
std::vector<BoxRead> plan_reads(const Box& wanted, gsl::span<const Box> chunks);

}  // namespace simmesh::checkpoint
