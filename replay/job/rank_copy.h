#pragma once

#include <cstddef>
#include <cstdint>

#include "replay/job/job_groups.h"
#include "replay/job/trace_job.h"

namespace simmesh::replay {

// copy_rank returns the trace at a position of a job, changed to that of another rank that does the
// same, as fill_missing_ranks describes. Raises a ValueError where that can't be right.
RankTrace copy_rank(const TraceJob& job, const JobGroups& groups, std::size_t position,
                    std::int64_t rank);

// shifted_members returns the members of another rank's group that corresponds to a group of a
// rank: the same list where both ranks are in it, else the one in its place where groups with this
// start, stride and size cut a world evenly. Raises a ValueError where they don't.
std::vector<std::int64_t> shifted_members(const std::vector<std::int64_t>& members,
                                          std::int64_t from, std::int64_t to,
                                          std::int64_t world_size);

}  // namespace simmesh::replay
