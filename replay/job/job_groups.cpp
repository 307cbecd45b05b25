#include "replay/job/job_groups.h"

#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

#include "core/check/join_text.h"
#include "replay/job/local_groups.h"
#include "replay/job/recorded_rank.h"
#include "replay/trace/comm_kind.h"
#include "replay/trace/finding_at.h"

namespace simmesh::replay {

namespace {

using GroupIdentity = std::pair<std::vector<std::int64_t>, std::int64_t>;

// GroupResolver finds the groups of a job.
class GroupResolver {
 public:
  GroupResolver(const TraceJob& job, Findings& findings) : job_(job), findings_(findings) {}

  JobGroups resolve() {
    result_.world_size = world_size_of(job_);
    for (const RankTrace& rank : job_.ranks)
      local_.push_back(local_groups(rank, result_.world_size, findings_));
    add_addresses(job_, result_.world_size, local_, findings_);
    collect_groups();
    for (std::size_t position = 0; position < job_.ranks.size(); ++position)
      resolve_comms(position);
    settle_ranks();
    check_members();
    return std::move(result_);
  }

 private:
  // The index in JobGroups::groups of each name of a rank; nullopt where the members are unknown.
  using Names = std::map<std::string, std::optional<std::uint32_t>, ByNumber>;

  void collect_groups() {
    std::map<GroupIdentity, std::uint32_t> identities;
    for (LocalGroups& local : local_) {
      number_groups(local);
      for (const auto& [name, group] : local.by_name)
        if (!group.members.empty())
          identities.emplace(GroupIdentity{group.members, group.number}, 0);
    }
    for (auto& [identity, index] : identities) {
      index = std::uint32_t(result_.groups.size());
      result_.groups.push_back({.members = identity.first, .number = identity.second});
    }
    for (const LocalGroups& local : local_) {
      Names& names = names_.emplace_back();
      for (const auto& [name, group] : local.by_name) {
        std::optional<std::uint32_t>& index = names[name];
        if (!group.members.empty()) index = identities.at({group.members, group.number});
      }
    }
  }

  void resolve_comms(std::size_t position) {
    const RankTrace& rank = job_.ranks[position];
    const ExecutionTrace& trace = rank.trace;
    std::vector<JobComm>& comms = result_.comms.emplace_back();
    std::map<TraceRequest, std::optional<std::uint32_t>> latest;
    for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) {
      const TraceComm* comm = trace.comm_of(trace.nodes[i]);
      if (comm == nullptr) continue;
      JobComm& each = comms.emplace_back(JobComm{.node = i, .group = std::nullopt});
      CommKind kind = comm_kind(trace.text(comm->name));
      bool is_wait = kind == CommKind::wait;
      std::string name = local_name(trace, *comm);
      if (!name.empty()) {
        auto group = names_[position].find(name);
        if (group != names_[position].end())
          each.group = group->second;
        else if (kind != CommKind::init && (local_[position].has_records || !is_wait))
          report_unknown(rank, trace.nodes[i], name);
      } else if (auto operation = latest.find(comm->request);
                 is_wait && operation != latest.end()) {
        each.group = operation->second;
      }
      if (!is_wait) latest[comm->request] = each.group;
    }
  }

  void report_unknown(const RankTrace& rank, const TraceNode& node, const std::string& name) {
    findings_.push_back(
        error_at("unknown_group", {.rank = rank.rank, .node = node.id, .field = "pg_name"},
                 fmt::format("expected a group that the rank's record of process groups has, got "
                             "'{}'",
                             name)));
  }

  // A file without a rank in its name belongs to the rank that its collectives record, if all ranks
  // then differ.
  void settle_ranks() {
    std::set<std::int64_t> distinct;
    for (std::size_t position = 0; position < job_.ranks.size(); ++position) {
      const RankTrace& rank = job_.ranks[position];
      std::optional<std::int64_t> settled = rank.rank;
      if (rank_in_name(rank.file) != rank.rank)
        settled = recorded_rank(rank.trace, result_, result_.comms[position]);
      result_.ranks.push_back(settled.value_or(rank.rank));
      distinct.insert(result_.ranks.back());
    }
    if (distinct.size() == job_.ranks.size()) return;
    for (std::size_t position = 0; position < job_.ranks.size(); ++position)
      result_.ranks[position] = job_.ranks[position].rank;
  }

  // A group that a rank uses must have the rank, and all its members must know it.
  void check_members() {
    std::map<std::int64_t, std::size_t> positions;
    for (std::size_t position = 0; position < job_.ranks.size(); ++position) {
      positions.emplace(result_.ranks[position], position);
      auto& known = result_.known.emplace_back();
      if (!local_[position].has_records) continue;
      known.emplace();
      for (const auto& [name, index] : names_[position])
        if (index) known->insert(*index);
    }
    std::set<std::uint32_t> is_checked;
    for (std::size_t position = 0; position < job_.ranks.size(); ++position) {
      std::set<std::uint32_t> is_foreign;
      for (JobComm& each : result_.comms[position]) {
        if (!each.group) continue;
        check_own(position, each, is_foreign);
        if (each.group && is_checked.insert(*each.group).second)
          check_others(position, each, positions);
      }
    }
  }

  void check_own(std::size_t position, JobComm& comm, std::set<std::uint32_t>& is_foreign) {
    const JobGroup& group = result_.groups[*comm.group];
    if (group.index_of(result_.ranks[position])) return;
    if (is_foreign.insert(*comm.group).second)
      findings_.push_back(error_at(
          "group_membership", place_of(position, comm),
          fmt::format("group '{}' is {}, of which rank {} isn't a member", name_of(position, comm),
                      to_string(group), result_.ranks[position])));
    comm.group.reset();
  }

  void check_others(std::size_t position, const JobComm& comm,
                    const std::map<std::int64_t, std::size_t>& positions) {
    const JobGroup& group = result_.groups[*comm.group];
    std::vector<std::int64_t> without;
    for (std::int64_t member : group.members) {
      auto other = positions.find(member);
      if (other != positions.end() && !result_.has(other->second, *comm.group))
        without.push_back(member);
    }
    if (without.empty()) return;
    findings_.push_back(
        error_at("group_membership", place_of(position, comm),
                 fmt::format("group '{}' is {}, which rank {} doesn't have",
                             name_of(position, comm), to_string(group), join_text(without, ", "))));
  }

  std::string name_of(std::size_t position, const JobComm& comm) const {
    const ExecutionTrace& trace = job_.ranks[position].trace;
    return local_name(trace, *trace.comm_of(trace.nodes[comm.node]));
  }
  FindingPlace place_of(std::size_t position, const JobComm& comm) const {
    const RankTrace& rank = job_.ranks[position];
    return {.rank = rank.rank, .node = rank.trace.nodes[comm.node].id, .field = "pg_name"};
  }

  const TraceJob& job_;
  Findings& findings_;
  std::vector<LocalGroups> local_;  // by position, as names_
  std::vector<Names> names_;
  JobGroups result_;
};

}  // namespace

JobGroups resolve_groups(const TraceJob& job, Findings& findings) {
  return GroupResolver(job, findings).resolve();
}

}  // namespace simmesh::replay
