#pragma once

#include "replay/job/trace_job.h"
#include "replay/trace/finding.h"

namespace simmesh::replay {

// check_structure checks the nodes of one rank as a tree, and adds to findings:
// - schema (warning): a version that isn't known;
// - no_root: no node is its own parent, or is named as the process;
// - duplicate_id: two nodes with one id;
// - parent_missing (warning): the parent isn't in the trace;
// - backward_parent (warning): the parent began after its child;
// - parent_cycle: parents that form a cycle.
// O(nodes).
void check_structure(const RankTrace& rank, Findings& findings);

}  // namespace simmesh::replay
