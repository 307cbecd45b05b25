#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/catalog/box.h"
#include "checkpoint/read/open.h"
#include "collectives/process_group.h"
#include "core/tensor/tensor.h"

namespace simmesh::checkpoint {

// WantedBox is a box of a tensor of a catalog, and where its elements are to go: a tensor of the
// box's sizes with elements as wide as the stored ones, at whatever strides.
struct WantedBox {
  std::size_t tensor = 0;
  Box box;
  Tensor to;
};

// Fetched is what all ranks read for what they wanted.
struct Fetched {
  std::int64_t bytes_needed = 0;  // without what several ranks need
  std::int64_t bytes_read = 0;
};

// fetch reads boxes for all ranks of a group, each of which calls it. A chunk that any of them
// needs is read once, by the rank that needs it and has read the fewest bytes so far: what only
// that one needs straight to where it is wanted, what others need too in blocks that go on to them;
// so no byte is read twice, and memory is bounded by some blocks a rank. Raises on every rank what
// reading raises on any; the tensors then hold anything.
Fetched fetch(const Store& store, const OpenCheckpoint& checkpoint,
              const std::vector<WantedBox>& wanted, const ProcessGroup& group);

}  // namespace simmesh::checkpoint
