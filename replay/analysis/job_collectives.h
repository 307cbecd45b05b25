#pragma once

#include <cstdint>
#include <optional>
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
  // Equal for the collectives of one group, and for the messages from one member to another; these
  // come one after another, and `place` counts them.
  std::uint32_t sequence = 0;
  std::uint32_t place = 0;
  // The number of ranks that take part; 0 where nothing tells it.
  std::int64_t members = 0;

  // is_complete is true if the timelines have each part. Only then is it known who came last, and
  // how long the others waited.
  bool is_complete() const { return std::int64_t(parts.size()) == members; }
};

// job_collectives finds which communications belong together, and returns them by the place of the
// first part, in the order of the ranks. Where all communications of a group have a comms_id, it
// decides; else parts of one collective have one name, one number of bytes, and times that overlap
// (align_comms.h). A communication that a rank lacks is missing from the parts. Communications
// whose group is unknown count as those of all ranks, unless their group's size says otherwise:
// then each is alone.
std::vector<JobCollective> job_collectives(const JobTimeline& job);

// span_of returns the span of a part.
const TimelineSpan& span_of(const JobTimeline& job, const CommPart& part);
const TimelineComm& comm_of(const JobTimeline& job, const CommPart& part);

// last_part returns the part that began last; the first one if there are several. nullopt where
// that can't be known: parts are missing, or clocks differ, because the times of parts that only
// leave together don't overlap.
std::optional<CommPart> last_part(const JobTimeline& job, const JobCollective& collective);

// times_overlap is false if parts that only leave together have no moment in common.
bool times_overlap(const JobTimeline& job, const JobCollective& collective);

// compared_bytes returns the bytes that are equal on all members: of an all-reduce its tensor, of
// an all-gather its output, of a reduce-scatter its input; 0 for those with splits, which differ.
// Elements count where their size is unknown.
std::int64_t compared_bytes(const TimelineComm& comm);

// kernel_name returns the name of a part's span up to its arguments: "ncclKernel_AllReduce_RING"
// for "ncclKernel_AllReduce_RING(ncclDevComm*)".
std::string_view kernel_name(const JobTimeline& job, const CommPart& part);

// comm_name returns the name of the communication; where it is unknown, that of its kernel.
std::string_view comm_name(const JobTimeline& job, const CommPart& part);

}  // namespace simmesh::replay
