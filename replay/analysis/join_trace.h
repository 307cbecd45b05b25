#pragma once

#include <cstdint>
#include <optional>

#include "replay/job/trace_job.h"
#include "replay/timeline/timeline.h"

namespace simmesh::replay {

// join_trace fills in what the communications of a timeline are (name, sizes, splits) from the
// execution traces of the job: of each rank the k-th node of the replay list that isn't wait or
// init is its k-th communication. group_size is that of groups whose size the trace doesn't say;
// without it the world's. Raises a ValueError where a rank has a timeline and no trace, and where
// it has another number of communications in one than in the other.
void join_trace(JobTimeline& timeline, const TraceJob& job,
                std::optional<std::int64_t> group_size = std::nullopt);

}  // namespace simmesh::replay
