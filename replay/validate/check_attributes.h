#pragma once

#include "replay/trace/finding.h"
#include "replay/validate/job_view.h"

namespace simmesh::replay {

// check_attributes compares the attributes of a communication, which schema 1.1.0 has, with its
// arguments and tensors, and adds to findings:
// - attr_size: in_msg_nelems, out_msg_nelems, in_split_size, out_split_size, pg_size,
// global_rank_start or global_rank_stride differ;
// - attr_name: collective_name, pg_name or pg_desc differ;
// - dtype: dtype isn't that of the tensors, or inputs and outputs have different ones.
// Attributes of a side without tensors, and of waits, aren't checked.
void check_attributes(const JobView& view, const CommPlace& place, Findings& findings);

}  // namespace simmesh::replay
