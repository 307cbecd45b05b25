#pragma once

#include "replay/job/trace_job.h"
#include "replay/trace/finding.h"

namespace simmesh::replay {

// validate returns the findings about the traces of a job, each with its rule, rank, node and
// field: those of the reader; of each trace by itself (check_structure, check_tensors,
// check_comms); of files beside them (check_resources); of the traces compared with each other
// (resolve_groups, compare_ranks, match_messages), and
// - rank_missing: a rank of the job has no trace; a warning where there is one trace only, which
// can't be compared with any;
// - schema_mixed (warning): traces have different schemas;
// - top_level: the job has no trace at all.
// worst() of the result is the verdict. The first 20 findings of each rule about a rank are kept,
// with the number of the others. O(nodes + communications + what splits and records list).
//
//   replay::TraceJob job = replay::read_job(paths);
//   for (const replay::Finding& finding : replay::validate(job))
//     fmt::print("{}\n", replay::to_string(finding));
Findings validate(const TraceJob& job);

}  // namespace simmesh::replay
