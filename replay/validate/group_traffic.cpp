#include "replay/validate/group_traffic.h"

#include <algorithm>
#include <map>
#include <set>

namespace simmesh::replay {

namespace {

// Returns the ranks for which some communication's group is unclear.
std::set<std::int64_t> unclear_ranks(const Findings& findings) {
  std::set<std::int64_t> ranks;
  for (const Finding& finding : findings)
    if (finding.severity == Severity::error && finding.rank &&
        (finding.rule == "unknown_group" || finding.rule == "group_membership" ||
         finding.rule == "group_identity"))
      ranks.insert(*finding.rank);
  return ranks;
}

void add_comms(const JobView& view, std::uint32_t position,
               const std::vector<std::map<std::uint32_t, std::size_t>>& places,
               std::vector<GroupTraffic>& traffic) {
  const std::vector<JobComm>& comms = view.groups().comms[position];
  for (std::uint32_t i = 0; i < comms.size(); ++i) {
    CommPlace place{.position = position, .comm = i};
    CommKind kind = view.kind(place);
    if (!comms[i].group || kind == CommKind::wait || kind == CommKind::init) continue;
    auto member = places[position].find(*comms[i].group);
    if (member == places[position].end()) continue;
    MemberComms& of = traffic[*comms[i].group].members[member->second];
    (is_message(kind) ? of.messages : of.collectives).push_back(place);
  }
}

}  // namespace

std::vector<GroupTraffic> group_traffic(const JobView& view, const Findings& findings) {
  const JobGroups& groups = view.groups();
  std::set<std::int64_t> unclear = unclear_ranks(findings);
  std::map<std::int64_t, std::uint32_t> positions;
  for (std::uint32_t position = 0; position < groups.ranks.size(); ++position)
    if (!unclear.contains(view.job().ranks[position].rank))
      positions.emplace(groups.ranks[position], position);
  std::vector<GroupTraffic> traffic(groups.groups.size());
  // The entry of each group of a rank, by position and group.
  std::vector<std::map<std::uint32_t, std::size_t>> places(groups.ranks.size());
  for (std::uint32_t g = 0; g < groups.groups.size(); ++g) {
    traffic[g].group = &groups.groups[g];
    const std::vector<std::int64_t>& members = groups.groups[g].members;
    for (std::size_t index = 0; index < members.size(); ++index) {
      auto position = positions.find(members[index]);
      if (position == positions.end() || !groups.has(position->second, g)) continue;
      places[position->second].emplace(g, traffic[g].members.size());
      traffic[g].members.push_back({.index = std::int64_t(index),
                                    .position = position->second,
                                    .collectives = {},
                                    .messages = {}});
    }
  }
  for (const auto& [rank, position] : positions) add_comms(view, position, places, traffic);
  std::erase_if(traffic, [](const GroupTraffic& each) {
    return std::all_of(each.members.begin(), each.members.end(), [](const MemberComms& member) {
      return member.collectives.empty() && member.messages.empty();
    });
  });
  return traffic;
}

}  // namespace simmesh::replay
