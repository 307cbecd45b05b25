#pragma once

#include "replay/job/trace_job.h"
#include "replay/trace/finding.h"

namespace simmesh::replay {

// check_resources compares the integer tensors in files beside the traces of a job with the traces,
// and adds to findings:
// - resource (warning): there is no such trace, node or tensor, or the file has other bytes than
// the tensor.
void check_resources(const TraceJob& job, Findings& findings);

}  // namespace simmesh::replay
