#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/box.h"
#include "checkpoint/open.h"
#include "collectives/process_group.h"

namespace simmesh::checkpoint {

// WantedBox is a box of a tensor of a catalog.
struct WantedBox {
  std::size_t tensor = 0;
  Box box;
};

// Fetched is what a rank wanted: the row-major bytes of each box; and what all ranks read for it.
struct Fetched {
  std::vector<std::vector<std::byte>> bytes;
  std::int64_t bytes_needed = 0;  // by all ranks, without what several need
  std::int64_t bytes_read = 0;
};

// fetch reads boxes for all ranks of a group, each of which calls it. A chunk that any of them
// needs is read once, by the rank that needs it and has read the fewest bytes so far, and goes on
// to the others; so no byte is read twice. Memory is bounded by what the ranks want and some chunks
// more. Raises on every rank what reading raises on any.
Fetched fetch(const Store& store, const OpenCheckpoint& checkpoint,
              const std::vector<WantedBox>& wanted, const ProcessGroup& group);

}  // namespace simmesh::checkpoint
