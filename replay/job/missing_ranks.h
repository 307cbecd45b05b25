#pragma once

#include <string>
#include <vector>

#include "replay/job/trace_job.h"

namespace simmesh::replay {

// fill_missing_ranks makes the traces of a job's missing ranks from the first one that it has, as
// for a data-parallel program: all ranks do the same, each with its own rank, device and groups.
// Returns one sentence for each trace that it made; empty where no rank is missing. A file without
// a rank in its name becomes the rank that its collectives record.
//
//   replay::TraceJob job = replay::read_job(paths);  // rank 1 of 2
//   replay::fill_missing_ranks(job);                 // {"rank 0 is synthesised from rank 1"}
//
// What changes: the device where its number is the rank's ("cuda:1" becomes "cuda:0"); the own rank
// of collectives; the members of sub-groups, which must cut the ranks evenly (start, stride and
// size of each are those of a dim of a mesh); uneven splits, to the transposes of the other ranks'
// ones; the other side of messages, in a ring. Roots stay.
//
// Raises a ValueError where that can't be right, and leaves the job unchanged: for groups that
// aren't evenly spaced, for splits whose transposes nobody has or that don't fit the tensors, for
// lists of uneven tensors, for gather and scatter, which differ at the root, and for messages of
// which not each send has its receive on the same rank, the other way round.
std::vector<std::string> fill_missing_ranks(TraceJob& job);

}  // namespace simmesh::replay
