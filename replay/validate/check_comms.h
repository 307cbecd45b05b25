#pragma once

#include "replay/trace/finding.h"
#include "replay/validate/job_view.h"

namespace simmesh::replay {

// check_comms checks each communication of a job by itself, and adds to findings:
// - group_identity: the first rank, stride or size that it records aren't those of its group;
// - own_rank: its rank isn't the place of the trace's rank in the group;
// - root, p2p_unmatched: the root, or the other side of a message, isn't in the group;
// - split_length, split_sum, size_relation: as check_sizes says;
// - dtype, attr_size, attr_name: as check_attributes says;
// - dangling_wait (note): it waits for a communication that the trace doesn't start. Traces that
//   begin within a program have such waits.
// Returns which ones are wrong about sizes, so that other ranks aren't compared with them.
CommFaults check_comms(const JobView& view, Findings& findings);

}  // namespace simmesh::replay
