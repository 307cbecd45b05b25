#pragma once

#include <cstdint>
#include <vector>

#include "replay/timeline/timeline.h"

namespace simmesh::replay {

// CommPart is the communication of one rank: places in JobTimeline::ranks and RankTimeline::comms.
struct CommPart {
  std::uint32_t rank = 0;
  std::uint32_t comm = 0;

  bool operator==(const CommPart&) const = default;
};

// JobCollective is one collective or message of a job: the communications that it consists of, by
// rank.
struct JobCollective {
  std::vector<CommPart> parts;
};

// job_collectives finds which communications belong together, and returns them by the place of the
// first part, in the order of the ranks. Where all communications of a group have a comms_id, it
// decides; else the k-th collective of a group is the same on each rank, and so is the k-th message
// from one member to another. Where groups are unknown, the k-th communication of each rank is the
// same collective. A communication that a rank lacks is missing from the parts.
std::vector<JobCollective> job_collectives(const JobTimeline& job);

// span_of returns the span of a part.
const TimelineSpan& span_of(const JobTimeline& job, const CommPart& part);
const TimelineComm& comm_of(const JobTimeline& job, const CommPart& part);

// last_part returns the part that began last; the first one if there are several.
const CommPart& last_part(const JobTimeline& job, const JobCollective& collective);

// kernel_name returns the name of a part's span up to its arguments: "ncclKernel_AllReduce_RING"
// for "ncclKernel_AllReduce_RING(ncclDevComm*)".
std::string_view kernel_name(const JobTimeline& job, const CommPart& part);

}  // namespace simmesh::replay
