#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/job/job_groups.h"
#include "replay/job/trace_job.h"
#include "replay/trace/comm_kind.h"
#include "replay/trace/finding_at.h"

namespace simmesh::replay {

// CommPlace is one communication of a job.
struct CommPlace {
  std::uint32_t position = 0;  // in TraceJob::ranks
  std::uint32_t comm = 0;      // in JobGroups::comms[position]
};

// JobView looks up the data of a job's communications. It keeps references.
class JobView {
 public:
  JobView(const TraceJob& job, const JobGroups& groups) : job_(job), groups_(groups) {}

  const TraceJob& job() const { return job_; }
  const JobGroups& groups() const { return groups_; }

  const ExecutionTrace& trace(const CommPlace& place) const {
    return job_.ranks[place.position].trace;
  }
  const JobComm& job_comm(const CommPlace& place) const {
    return groups_.comms[place.position][place.comm];
  }
  const TraceNode& node(const CommPlace& place) const {
    return trace(place).nodes[job_comm(place).node];
  }
  const TraceComm& comm(const CommPlace& place) const { return *trace(place).comm_of(node(place)); }
  // group must not be called for a communication without one.
  const JobGroup& group(const CommPlace& place) const {
    return groups_.groups[*job_comm(place).group];
  }
  // The rank in the job's numbering, which findings name, and in that of the group's members.
  std::int64_t rank(const CommPlace& place) const { return job_.ranks[place.position].rank; }
  std::int64_t global_rank(const CommPlace& place) const { return groups_.ranks[place.position]; }

  std::string_view name(const CommPlace& place) const {
    return trace(place).text(comm(place).name);
  }
  CommKind kind(const CommPlace& place) const { return comm_kind(name(place)); }
  gsl::span<const std::int64_t> numbers(const CommPlace& place, TraceRange range) const {
    return trace(place).numbers_in(range);
  }

  FindingPlace at(const CommPlace& place, std::string_view field) const {
    return {.rank = rank(place), .node = node(place).id, .field = field};
  }

 private:
  const TraceJob& job_;
  const JobGroups& groups_;
};

// to_string returns "rank 3 node 728".
std::string to_string(const JobView& view, const CommPlace& place);

// CommFaults are the communications of a job with a fault of their own, so that other ranks aren't
// compared with them: by position in TraceJob::ranks, then as JobGroups::comms.
using CommFaults = std::vector<std::vector<bool>>;

}  // namespace simmesh::replay
