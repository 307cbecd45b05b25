#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replay/job/job_groups.h"
#include "replay/job/trace_job.h"

namespace simmesh::replay {

// ExchangeSplits are the rows that one rank of an all_to_all sends to each member and receives from
// each. Empty lists stand for equal parts.
struct ExchangeSplits {
  std::vector<std::int64_t> in;
  std::vector<std::int64_t> out;

  // are_even is true if all ranks can have these splits: each part is the same.
  bool are_even() const;
};

// splits_of returns the splits that a communication records.
ExchangeSplits splits_of(const ExecutionTrace& trace, const TraceComm& comm);

// MissingSplits finds the splits of ranks that have no trace in those of the other ranks. It keeps
// references.
class MissingSplits {
 public:
  MissingSplits(const TraceJob& job, const JobGroups& groups) : job_(job), groups_(groups) {}

  // Place is a collective of a trace.
  struct Place {
    std::size_t position = 0;  // in TraceJob::ranks
    std::uint32_t group = 0;   // in JobGroups::groups
    std::uint32_t node = 0;    // index in the trace
  };

  // find returns the splits of a rank without a trace in the collective at a place: the rows that
  // all other members send to it and expect from it, and for itself the rest of the tensors, which
  // are assumed to be as long as those at the place. nullopt where that isn't possible, with the
  // reason in fault.
  std::optional<ExchangeSplits> find(const Place& place, std::int64_t rank, std::string& fault);

 private:
  const std::vector<std::uint32_t>& collectives(std::size_t position, std::uint32_t group);
  const TraceComm* counterpart(std::int64_t rank, std::uint32_t group, std::size_t index);

  const TraceJob& job_;
  const JobGroups& groups_;
  // The nodes of the collectives of a trace in a group, by position and group.
  std::map<std::pair<std::size_t, std::uint32_t>, std::vector<std::uint32_t>> collectives_;
};

}  // namespace simmesh::replay
