#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/catalog/box.h"
#include "checkpoint/read/open_together.h"
#include "collectives/process_group.h"
#include "core/tensor/tensor.h"

namespace simmesh::checkpoint {

// WantedBox is a box of a tensor of a catalog, and the tensor that its elements fill: one of the
// box's sizes with elements as wide as the stored ones, at any strides.
struct WantedBox {
  std::size_t tensor = 0;
  Box box;
  Tensor to;
};

// Fetched counts the bytes that all ranks read.
struct Fetched {
  std::int64_t bytes_needed = 0;  // once for bytes that several ranks need
  std::int64_t bytes_read = 0;
};

// fetch reads boxes for all ranks of a group, each of which calls it. A needed chunk is read once,
// by the rank among those that need it that reads the fewest bytes so far. If only that rank needs
// the chunk, it is read straight to its place. Otherwise it is read in blocks that go on to the
// others. So no byte is read twice, and memory is bounded by some blocks a rank. Raises on every
// rank what reading raises on any; the tensors then hold anything.
Fetched fetch(const Store& store, const SharedCheckpoint& checkpoint,
              const std::vector<WantedBox>& wanted, const ProcessGroup& group);

}  // namespace simmesh::checkpoint
