#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/job/trace_job.h"
#include "replay/trace/finding.h"

namespace simmesh::replay {

// The largest job size that is accepted: a larger figure is a mistake in the trace.
inline constexpr std::int64_t world_size_max = std::int64_t(1) << 20;

// The limit of members of all groups of a rank together; groups beyond it have unknown members.
inline constexpr std::int64_t members_max = std::int64_t(1) << 24;

// ByNumber sorts names of groups: numbers by value, before all other names.
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const;
};

// LocalGroup is a process group as one rank knows it.
struct LocalGroup {
  std::vector<std::int64_t> members;  // global ranks; empty where the trace doesn't tell them
  std::int64_t number = 0;            // among the rank's groups with these members
};

// LocalGroups are the groups of one rank by the names that the rank gives them; an address is a
// name like "address 94398426290464".
struct LocalGroups {
  std::map<std::string, LocalGroup, ByNumber> by_name;
  bool has_records = false;
  std::int64_t member_count = 0;  // of all groups together

  // fits returns whether a group of so many more ranks is small enough, and counts it then.
  bool fits(std::int64_t members);
};

// local_name returns the rank's name for the group of a communication; empty where it names none.
std::string local_name(const ExecutionTrace& trace, const TraceComm& comm);

// world_size_of returns the number of ranks of a job: the size of the default group, else of the
// largest, else the number of files.
std::int64_t world_size_of(const TraceJob& job);

// local_groups returns the groups of one rank: those that its process groups record, or if there
// are none those that its collectives describe. Addresses are left out.
LocalGroups local_groups(const RankTrace& rank, std::int64_t world_size, Findings& findings);

// add_addresses adds the groups that ranks record by address, as groups of all ranks: one for each
// address of the rank that has the fewest, the most used first. Others are added without members
// and to findings.
void add_addresses(const TraceJob& job, std::int64_t world_size, std::vector<LocalGroups>& groups,
                   Findings& findings);

// number_groups numbers the groups of a rank that have the same members.
void number_groups(LocalGroups& groups);

}  // namespace simmesh::replay
