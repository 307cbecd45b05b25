#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace simmesh::replay {

// JobGroup is a process group of a job: the ranks that communicate, whatever each of them calls it.
// Groups with the same members are told apart by the order in which their ranks made them.
struct JobGroup {
  std::vector<std::int64_t> members;  // global ranks in the order of the group
  std::int64_t number = 0;            // among groups with these members

  // index_of returns the index of a global rank in the group; nullopt where it isn't a member.
  // O(n), or O(1) for evenly spaced ranks.
  std::optional<std::int64_t> index_of(std::int64_t rank) const;
};

// to_string returns "the group of ranks [0, 1, 2, 3]", with its number where that isn't 0; the
// members of large groups are cut.
std::string to_string(const JobGroup& group);

// JobComm is one communication of one rank, with its group.
struct JobComm {
  std::uint32_t node = 0;  // index in the trace
  // Index in JobGroups::groups. nullopt for a wait whose operation the trace lacks, for a
  // communication that names no group, and where the group couldn't be found.
  std::optional<std::uint32_t> group;
};

// JobGroups maps each communication of each rank to its group in the job, which is found by
// members, never by name. Where a trace has no groups, they follow from its collectives
// (global_rank_start, global_rank_stride and pg_size), or are all ranks.
struct JobGroups {
  std::int64_t world_size = 0;
  std::vector<JobGroup> groups;             // sorted by members, then by number
  std::vector<std::vector<JobComm>> comms;  // by position in TraceJob::ranks; by id of their nodes
  // The global rank of each trace, by position in TraceJob::ranks: the job's; where the file's name
  // has none, the one that its collectives record, unless that would give two traces one rank.
  std::vector<std::int64_t> ranks;
  // The groups that each trace names, by position; nullopt for a trace that names groups only where
  // it uses them, and so doesn't tell which others it has.
  std::vector<std::optional<std::set<std::uint32_t>>> known;

  // has is true if the trace at a position may have a group that it is a member of.
  bool has(std::size_t position, std::uint32_t group) const {
    return !known[position] || known[position]->contains(group);
  }
};

}  // namespace simmesh::replay
