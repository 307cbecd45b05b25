#include "replay/analysis/job_collectives.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "replay/trace/comm_kind.h"

namespace simmesh::replay {

namespace {

// Key is equal for the parts of one collective.
struct Key {
  std::int64_t group = -1;
  std::string comms_id = {};
  std::int64_t sender = -1;  // of a message
  std::int64_t receiver = -1;
  std::int64_t place = 0;  // among those that are equal so far

  auto operator<=>(const Key&) const = default;
};

std::vector<bool> groups_with_ids(const JobTimeline& job) {
  std::vector<bool> have_ids(job.groups.size() + 1, true);
  for (const RankTimeline& rank : job.ranks)
    for (const TimelineComm& comm : rank.comms)
      if (comm.comms_id.empty()) have_ids[comm.group ? *comm.group : job.groups.size()] = false;
  return have_ids;
}

std::int64_t place_in_group(const TimelineGroup& group, std::int64_t rank) {
  auto found = std::find(group.members.begin(), group.members.end(), rank);
  return found == group.members.end() ? -1 : found - group.members.begin();
}

Key key_of(const JobTimeline& job, const RankTimeline& rank, const TimelineComm& comm) {
  if (!comm.group) return {};
  Key key{.group = std::int64_t(*comm.group)};
  CommKind kind = comm_kind(comm.name);
  if (!is_message(kind)) return key;
  std::int64_t own = place_in_group(job.groups[*comm.group], rank.rank);
  key.sender = kind == CommKind::send ? own : comm.peer;
  key.receiver = kind == CommKind::send ? comm.peer : own;
  return key;
}

}  // namespace

std::vector<JobCollective> job_collectives(const JobTimeline& job) {
  std::vector<bool> have_ids = groups_with_ids(job);
  std::vector<JobCollective> collectives;
  std::map<Key, std::size_t> known;
  for (std::uint32_t r = 0; r < job.ranks.size(); ++r) {
    const RankTimeline& rank = job.ranks[r];
    std::map<Key, std::int64_t> counts;
    for (std::uint32_t c = 0; c < rank.comms.size(); ++c) {
      const TimelineComm& comm = rank.comms[c];
      Key key = key_of(job, rank, comm);
      if (have_ids[comm.group ? *comm.group : job.groups.size()]) key.comms_id = comm.comms_id;
      key.place = counts[key]++;
      auto [found, is_new] = known.emplace(key, collectives.size());
      if (is_new) collectives.emplace_back();
      collectives[found->second].parts.push_back({r, c});
    }
  }
  return collectives;
}

const TimelineComm& comm_of(const JobTimeline& job, const CommPart& part) {
  return job.ranks[part.rank].comms[part.comm];
}

const TimelineSpan& span_of(const JobTimeline& job, const CommPart& part) {
  return job.ranks[part.rank].span_of(comm_of(job, part));
}

const CommPart& last_part(const JobTimeline& job, const JobCollective& collective) {
  return *std::max_element(collective.parts.begin(), collective.parts.end(),
                           [&](const CommPart& a, const CommPart& b) {
                             return span_of(job, a).begin_us < span_of(job, b).begin_us;
                           });
}

std::string_view kernel_name(const JobTimeline& job, const CommPart& part) {
  std::string_view name = job.ranks[part.rank].text(span_of(job, part).name);
  return name.substr(0, name.find('('));
}

}  // namespace simmesh::replay
