#pragma once

#include <cstdint>

#include "checkpoint/catalog/location.h"
#include "checkpoint/catalog/save_layout.h"
#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/save_load/commit.h"
#include "collectives/process_group.h"

namespace simmesh::checkpoint {

// SaveOptions say how files are arranged, and what happens to older checkpoints.
struct SaveOptions {
  CommitOptions commit = {};
  SaveLayout layout = SaveLayout::one_file;
  // Lets a run that nothing has changed in resume from each rank's own files (see LocalRecord):
  // each rank also writes what it has of boxes that another one stores, and a record of its part.
  bool keeps_local = false;
};

// SaveReport is what a save wrote, of all ranks.
struct SaveReport {
  std::int64_t number = 0;          // of the checkpoint among those of its store
  std::int64_t tensor_bytes = 0;    // of all ranks' files, without headers
  std::int64_t most_of_a_rank = 0;  // the most of them that one rank wrote
};

// save writes a checkpoint: every rank of the world calls it, with the same names or those of which
// it has a part. A box that several ranks hold is stored once, by the one that has the fewest bytes
// to write so far. A value that is no tensor is stored by the lowest rank that has it. Each rank
// writes one safetensors file, or one for each part; what lies where, and the hash of every byte,
// is in a manifest. See Commit for when it becomes a checkpoint.
//
// Blocks until all is on disk. Costs collectives among all ranks for the plan and the result. If
// anything fails on any rank, every rank raises the Error of the lowest one that failed, and
// nothing is left behind. Raises a ValueError for partial placements, for a tensor that has another
// shape or dtype on another rank, and for one of which the ranks don't have all elements.
SaveReport save(const StateDict& state, const Location& location, const SaveOptions& options = {});

}  // namespace simmesh::checkpoint
