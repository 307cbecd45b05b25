#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "mesh/rank_list.h"
#include "replay/job/trace_job.h"
#include "replay/trace/finding.h"

namespace simmesh::replay {

// JobGroup is a process group of a job: the ranks that communicate, whatever each of them calls it.
// Groups with the same members are told apart by the order in which their ranks made them.
struct JobGroup {
  std::vector<std::int64_t> members;  // global ranks in the order of the group
  std::int64_t number = 0;            // among groups with these members
};

// JobComm is one communication of one rank, with its group.
struct JobComm {
  std::uint32_t node = 0;  // index in the trace
  std::optional<std::uint32_t>
      group;  // index in JobGroups::groups; of a wait that names no group: none
};

// JobGroups says which group of the job each communication of each rank is in: found by members,
// never by name. Where a trace has no groups, they follow from its collectives (global_rank_start,
// global_rank_stride and pg_size), or are all ranks.
struct JobGroups {
  std::int64_t world_size = 0;
  std::vector<JobGroup> groups;
  std::vector<std::vector<JobComm>> comms;  // by position in TraceJob::ranks; in the order of nodes
};

// resolve_groups finds the groups of a job. What can't be resolved (a name that no group has, a
// group that a member doesn't have) is added to findings, and its communications have no group.
JobGroups resolve_groups(const TraceJob& job, Findings& findings);

}  // namespace simmesh::replay
