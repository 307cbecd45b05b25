#pragma once

#include <cstdint>
#include <memory>

#include "checkpoint/read/open.h"
#include "collectives/process_group.h"

namespace simmesh::checkpoint {

// SharedCheckpoint is a checkpoint that the ranks of a group have opened, with a hash of its
// catalog and its folder. Ranks can share values that they make of checkpoints with equal hashes.
struct SharedCheckpoint {
  OpenCheckpoint opened;
  std::uint64_t hash = 0;
};

// shared_checkpoint returns a checkpoint with its hash.
SharedCheckpoint shared_checkpoint(OpenCheckpoint opened);

// open_together opens a checkpoint on every rank of a group, each of which calls it. The first rank
// reads the catalog and passes it to the others, and all share one value. Raises on every rank what
// opening raises on the first.
std::shared_ptr<const SharedCheckpoint> open_together(const Location& location,
                                                      const ProcessGroup& group);

}  // namespace simmesh::checkpoint
