#pragma once

#include <cstdint>
#include <optional>

#include "replay/job/trace_job.h"
#include "replay/timeline/timeline.h"

namespace simmesh::replay {

// join_trace completes the communications of a timeline (name, sizes, splits) from the execution
// traces of the job: the k-th node of a rank's replay list that isn't wait or init is its k-th
// communication. group_size is for groups whose size the trace lacks; its default is the world's.
// Raises a ValueError where a rank has a timeline and no trace, and where it has another number of
// communications in one than in the other.
void join_trace(JobTimeline& timeline, const TraceJob& job,
                std::optional<std::int64_t> group_size = std::nullopt);

}  // namespace simmesh::replay
