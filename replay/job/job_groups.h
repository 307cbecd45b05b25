#pragma once

#include "replay/job/job_group.h"
#include "replay/job/trace_job.h"
#include "replay/trace/finding.h"

namespace simmesh::replay {

// resolve_groups finds the groups of a job. Names count only within a rank. Groups of a rank with
// the same members are numbered in the order of their names, as numbers. An address, which is all
// that schema 1.0.1 records, stands for all ranks. A wait without a group's name has the group of
// the latest operation with its request. Groups that can't be resolved (a name that no record of
// the rank has, a group that a member doesn't have) are added to findings, and their communications
// have no group: rules "unknown_group", "group_membership", "group_record".
JobGroups resolve_groups(const TraceJob& job, Findings& findings);

}  // namespace simmesh::replay
