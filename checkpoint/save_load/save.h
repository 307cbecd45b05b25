#pragma once

#include <cstdint>

#include "checkpoint/catalog/location.h"
#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/native/commit.h"
#include "checkpoint/native/save_layout.h"
#include "collectives/process_group.h"

namespace simmesh::checkpoint {

// SaveOptions are the options of a save: the layout of files, and the care of older checkpoints.
struct SaveOptions {
  CommitOptions commit = {};
  SaveLayout layout = SaveLayout::one_file;
  // Lets a run resume from each rank's own files if nothing has changed (see LocalRecord). Each
  // rank also writes its boxes that another rank stores, and a record of its part.
  bool keeps_local = false;
};

// SaveReport counts the bytes that a save wrote on all ranks.
struct SaveReport {
  std::int64_t number = 0;          // of the commit in its store
  std::int64_t tensor_bytes = 0;    // in all ranks' files, without headers
  std::int64_t most_of_a_rank = 0;  // the most of these that one rank wrote
};

// save writes a checkpoint. Every rank of the world calls it, with the same names, or with those of
// which it has a part. A box that several ranks hold is stored once, by the rank with the fewest
// bytes to write so far. A value that is no tensor is stored by the lowest rank that has it. Each
// rank writes one safetensors file, or one for each part. A manifest has the place and the hash of
// every byte. See Commit for the moment when it becomes a checkpoint.
//
// Blocks until everything is on disk. Costs collectives among all ranks for the plan and the
// result. If anything fails on any rank, every rank raises the Error of the lowest one that failed,
// and nothing is left behind. Raises a ValueError for partial placements, for a tensor with another
// shape or dtype on another rank, and for a tensor of which the ranks don't have all elements.
SaveReport save(const StateDict& state, const Location& location, const SaveOptions& options = {});

}  // namespace simmesh::checkpoint
