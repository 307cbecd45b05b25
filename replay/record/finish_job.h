#pragma once

#include <gsl/span>
#include <vector>

#include "replay/job/trace_job.h"
#include "replay/record/recorded_rank.h"

namespace simmesh::replay {

// finish_job completes the traces of all ranks of a world, rank by rank, with data that a rank
// doesn't know by itself: names of the process groups that mean the same on every rank ("0" is the
// world), in the node "## process_group:init ##" and in each communication; the elements from each
// member of an uneven all_to_all, and the parts of an uneven all_gather or reduce_scatter, which
// are views of the whole tensor, as tensors of one dim; and the attributes of communications. Ranks
// that never began have no trace.
TraceJob finish_job(std::vector<RecordedRank> ranks);

}  // namespace simmesh::replay
