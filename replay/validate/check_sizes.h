#pragma once

#include "replay/trace/finding.h"
#include "replay/validate/job_view.h"

namespace simmesh::replay {

// check_sizes checks the sizes of a communication in a group, and adds to findings:
// - split_length: splits that aren't one a member;
// - split_sum: splits that don't add up to the tensor: its first dim, or the elements of a list;
// - size_relation: inputs and outputs that don't fit, in elements of n members: equal for
// all_reduce,
//   broadcast and reduce; n times for all_gather and gather; an nth for reduce_scatter and scatter;
//   a multiple of n for an all_to_all without splits. Lists of tensors of uneven sizes must fit for
//   the own rank. Of gather and scatter only the root has both sides.
// Returns whether it found nothing.
bool check_sizes(const JobView& view, const CommPlace& place, Findings& findings);

}  // namespace simmesh::replay
