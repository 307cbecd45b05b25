#include "replay/job/local_groups.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>
#include <tuple>

#include "core/check/join_text.h"
#include "replay/job/majority.h"
#include "replay/trace/comm_kind.h"
#include "replay/trace/finding_at.h"

namespace simmesh::replay {

namespace {

using GroupMembers = std::vector<std::int64_t>;

bool is_group_number(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_group_size(std::int64_t size) { return size > 0 && size <= world_size_max; }

GroupMembers consecutive_ranks(std::int64_t count) {
  GroupMembers members(static_cast<std::size_t>(count));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

bool is_default_group(const ProcessGroupRecord& record) {
  return record.description == "default_pg" || record.ranks.empty();
}

bool is_default_group(const ExecutionTrace& trace, const TraceComm& comm) {
  return comm.group.name_and_description &&
         trace.text(comm.group.name_and_description->second) == "default_pg";
}

// Returns the last rank of an evenly spaced group plus one; 0 where the figures are missing.
std::int64_t ranks_reached(const TraceComm& comm) {
  if (!is_group_size(comm.group_size)) return 0;
  if (comm.global_rank_start < 0) return comm.group_size;
  bool is_even = comm.global_rank_stride > 0 && comm.global_rank_stride <= world_size_max;
  std::int64_t steps = is_even ? comm.global_rank_stride * (comm.group_size - 1) : 0;
  return comm.global_rank_start <= world_size_max ? comm.global_rank_start + steps + 1 : 0;
}

// SizeVotes are the sizes of the world that the traces of a job give, by their source.
struct SizeVotes {
  std::vector<std::int64_t> by_record;
  std::vector<std::int64_t> by_default_group;
  std::int64_t largest = 0;

  void add(const ExecutionTrace& trace) {
    for (const ProcessGroupRecord& record : trace.process_groups) {
      if (is_default_group(record) && is_group_size(record.size)) by_record.push_back(record.size);
      for (std::int64_t rank : record.ranks)
        if (rank < world_size_max) largest = std::max(largest, rank + 1);
    }
    for (const TraceComm& comm : trace.comms) {
      if (comm.global_rank_start >= 0 && is_default_group(trace, comm) &&
          is_group_size(comm.group_size))
        by_default_group.push_back(comm.group_size);
      largest = std::max(largest, ranks_reached(comm));
    }
  }
};

// AddressUse is an address that stands for a group, and how often a rank uses it.
struct AddressUse {
  std::int64_t address = 0;
  std::int64_t node = 0;  // the first that uses it
  std::int64_t group_size = 0;
  std::int64_t uses = 0;
};

bool names_address(const TraceComm& comm) {
  return !comm.group.name_and_description && comm.group.address != 0;
}

std::vector<AddressUse> address_uses(const ExecutionTrace& trace) {
  std::vector<AddressUse> uses;
  std::map<std::int64_t, std::size_t> places;
  for (const TraceNode& node : trace.nodes) {
    const TraceComm* comm = trace.comm_of(node);
    if (comm == nullptr || !names_address(*comm)) continue;
    auto [place, is_new] = places.emplace(comm->group.address, uses.size());
    if (is_new) uses.push_back({comm->group.address, node.id, comm->group_size, 0});
    ++uses[place->second].uses;
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const AddressUse& a, const AddressUse& b) { return a.uses > b.uses; });
  return uses;
}

std::string address_name(std::int64_t address) { return fmt::format("address {}", address); }

// Describes what is wrong with a record; empty where nothing is.
std::string record_fault(const ProcessGroupRecord& record, const LocalGroups& groups) {
  if (groups.by_name.contains(record.name)) return "the rank has two groups of this name";
  if (record.size < 0 || record.size > world_size_max ||
      std::int64_t(record.ranks.size()) > world_size_max)
    return fmt::format("expected at most {} ranks, got group_size {}", world_size_max, record.size);
  if (record.ranks.empty()) return {};
  std::set<std::int64_t> distinct(record.ranks.begin(), record.ranks.end());
  if (distinct.size() != record.ranks.size()) return "a rank is listed twice";
  if (*distinct.begin() < 0 || *distinct.rbegin() >= world_size_max)
    return fmt::format("expected ranks from 0 to {}, got [{}]", world_size_max - 1,
                       join_text(record.ranks, ", "));
  if (record.size != 0 && record.size != std::int64_t(record.ranks.size()))
    return fmt::format("group_size is {}, but {} ranks are listed", record.size,
                       record.ranks.size());
  return {};
}

void add_records(const RankTrace& rank, std::int64_t world_size, LocalGroups& groups,
                 Findings& findings) {
  for (const ProcessGroupRecord& record : rank.trace.process_groups) {
    std::int64_t size = record.size > 0 ? record.size : world_size;
    std::string fault = record_fault(record, groups);
    if (fault.empty() && !groups.fits(size)) fault = "the groups of the rank have too many members";
    LocalGroup& group = groups.by_name[record.name];
    if (fault.empty())
      group.members = record.ranks.empty() ? consecutive_ranks(size) : record.ranks;
    else
      findings.push_back(error_at("group_record", {.rank = rank.rank, .field = "ranks"},
                                  fmt::format("group '{}': {}", record.name, fault)));
  }
}

GroupMembers described_members(const TraceComm& comm, std::int64_t world_size) {
  if (!is_group_size(comm.group_size)) return {};
  if (comm.global_rank_start < 0)
    return comm.group_size == world_size ? consecutive_ranks(world_size) : GroupMembers();
  if (ranks_reached(comm) == 0) return {};
  if (comm.group_size > 1 && ranks_reached(comm) < comm.global_rank_start + comm.group_size)
    return {};
  GroupMembers members;
  for (std::int64_t i = 0; i < comm.group_size; ++i)
    members.push_back(comm.global_rank_start + i * comm.global_rank_stride);
  return members;
}

void add_described(const RankTrace& rank, std::int64_t world_size, LocalGroups& groups,
                   Findings& findings) {
  for (const TraceNode& node : rank.trace.nodes) {
    const TraceComm* comm = rank.trace.comm_of(node);
    if (comm == nullptr || !comm->group.name_and_description) continue;
    if (comm_kind(rank.trace.text(comm->name)) == CommKind::wait) continue;
    std::string name = local_name(rank.trace, *comm);
    if (name.empty() || groups.by_name.contains(name)) continue;
    GroupMembers members;
    if (groups.fits(comm->group_size)) members = described_members(*comm, world_size);
    if (members.empty())
      findings.push_back(warning_at(
          "unknown_group", {.rank = rank.rank, .node = node.id, .field = "pg_name"},
          fmt::format(
              "no record lists the ranks of group '{}', and {} ranks from {} in steps of {} "
              "don't tell them; its collectives aren't compared",
              name, comm->group_size, comm->global_rank_start, comm->global_rank_stride)));
    groups.by_name[name].members = std::move(members);
  }
}

}  // namespace

bool ByNumber::operator()(const std::string& a, const std::string& b) const {
  auto key = [](std::string_view name) {
    bool is_other = !is_group_number(name);
    std::string_view digits = name;
    if (!is_other) digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return std::tuple(is_other, is_other ? 0 : digits.size(), digits, name);
  };
  return key(a) < key(b);
}

bool LocalGroups::fits(std::int64_t members) {
  if (members < 0 || members > members_max - member_count) return false;
  member_count += members;
  return true;
}

std::string local_name(const ExecutionTrace& trace, const TraceComm& comm) {
  if (names_address(comm)) return address_name(comm.group.address);
  if (!comm.group.name_and_description) return {};
  return std::string(trace.text(comm.group.name_and_description->first));
}

std::int64_t world_size_of(const TraceJob& job) {
  SizeVotes votes;
  std::int64_t files = std::int64_t(job.ranks.size() + job.findings.size());
  for (const RankTrace& rank : job.ranks) {
    votes.add(rank.trace);
    if (rank.rank < world_size_max) files = std::max(files, rank.rank + 1);
  }
  if (!votes.by_record.empty()) return majority(votes.by_record);
  if (!votes.by_default_group.empty()) return majority(votes.by_default_group);
  return std::min(std::max(files, votes.largest), world_size_max);
}

LocalGroups local_groups(const RankTrace& rank, std::int64_t world_size, Findings& findings) {
  LocalGroups groups;
  groups.has_records = !rank.trace.process_groups.empty();
  if (groups.has_records)
    add_records(rank, world_size, groups, findings);
  else
    add_described(rank, world_size, groups, findings);
  return groups;
}

void add_addresses(const TraceJob& job, std::int64_t world_size, std::vector<LocalGroups>& groups,
                   Findings& findings) {
  std::vector<std::vector<AddressUse>> uses;
  std::size_t fewest = std::size_t(-1);
  for (const RankTrace& rank : job.ranks) {
    uses.push_back(address_uses(rank.trace));
    if (!uses.back().empty()) fewest = std::min(fewest, uses.back().size());
  }
  for (std::size_t position = 0; position < job.ranks.size(); ++position) {
    for (std::size_t i = 0; i < uses[position].size(); ++i) {
      const AddressUse& use = uses[position][i];
      LocalGroup& group = groups[position].by_name[address_name(use.address)];
      bool has_all_ranks = use.group_size == 0 || use.group_size == world_size;
      if (i < fewest && has_all_ranks) {
        group = {.members = consecutive_ranks(world_size), .number = std::int64_t(i)};
        continue;
      }
      FindingPlace place{.rank = job.ranks[position].rank, .node = use.node, .field = "pg"};
      if (i >= fewest)
        findings.push_back(error_at(
            "unknown_group", place,
            fmt::format("the group at address {} is this rank's {}. by use, another rank has {}: "
                        "an address doesn't tell who its ranks are",
                        use.address, i + 1, fewest)));
      else
        findings.push_back(warning_at(
            "unknown_group", place,
            fmt::format("the group at address {} has {} of {} ranks, and nothing tells which; its "
                        "collectives aren't compared",
                        use.address, use.group_size, world_size)));
    }
  }
}

void number_groups(LocalGroups& groups) {
  std::map<GroupMembers, std::int64_t> counts;
  for (auto& [name, group] : groups.by_name)
    if (!group.members.empty() && !name.starts_with("address "))
      group.number = counts[group.members]++;
}

}  // namespace simmesh::replay
