#include "replay/validate/compare_ranks.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "replay/job/majority.h"
#include "replay/job/recorded_rank.h"
#include "replay/validate/compare_exchange.h"
#include "replay/validate/first_divergence.h"

namespace simmesh::replay {

namespace {

// RankComparison compares the collectives of one group.
class RankComparison {
 public:
  RankComparison(const JobView& view, const GroupTraffic& traffic, const CommFaults& faults,
                 Findings& findings)
      : view_(view), group_(*traffic.group), faults_(faults), findings_(findings) {
    for (const MemberComms& member : traffic.members) members_.push_back(&member);
  }

  void compare() {
    if (members_.size() < 2) return;
    compare_counts();
    std::size_t count = members_.front()->collectives.size();
    for (std::size_t k = 0; k < count; ++k) {
      compare_names(k);
      compare_collective(k);
    }
  }

 private:
  // Leaves those members that have as many collectives as most.
  void compare_counts() {
    std::vector<std::size_t> counts;
    for (const MemberComms* member : members_) counts.push_back(member->collectives.size());
    std::size_t count = majority(counts);
    const MemberComms& reference = **std::find_if(
        members_.begin(), members_.end(),
        [&](const MemberComms* member) { return member->collectives.size() == count; });
    std::erase_if(members_, [&](const MemberComms* member) {
      if (member->collectives.size() == count) return false;
      findings_.push_back(first_divergence(view_, group_, *member, reference));
      return true;
    });
  }

  // Leaves those members that have the collective that most have.
  void compare_names(std::size_t k) {
    std::vector<std::string_view> names;
    for (const MemberComms* member : members_) names.push_back(view_.name(member->collectives[k]));
    std::string_view name = majority(names);
    CommPlace reference = place_of(name, names, k);
    std::erase_if(members_, [&](const MemberComms* member) {
      const CommPlace& place = member->collectives[k];
      if (view_.name(place) == name) return false;
      findings_.push_back(
          error_at("order", view_.at(place, "name"),
                   fmt::format("expected {} as collective {} of {}, as {} has it, got {}", name, k,
                               to_string(group_), to_string(view_, reference), view_.name(place))));
      return true;
    });
  }

  void compare_collective(std::size_t k) {
    std::vector<MemberComm> sound;
    for (const MemberComms* member : members_) {
      const CommPlace& place = member->collectives[k];
      if (!faults_[place.position][place.comm]) sound.push_back({member->index, place});
    }
    if (sound.empty()) return;
    CommKind kind = view_.kind(sound[0].place);
    compare_values(sound, "dtype", "dtype", [&](const CommPlace& place) {
      return view_.trace(place).text(view_.comm(place).dtype);
    });
    if (rank_field(kind) == RankField::root)
      compare_values(sound, "root", "root",
                     [&](const CommPlace& place) { return view_.comm(place).rank; });
    compare_sizes(sound, kind);
  }

  void compare_sizes(const std::vector<MemberComm>& members, CommKind kind) {
    auto in = [&](const CommPlace& place) { return view_.comm(place).in_elements; };
    auto out = [&](const CommPlace& place) { return view_.comm(place).out_elements; };
    switch (kind) {
      case CommKind::all_to_all:
      case CommKind::all_to_allv:
      case CommKind::all_gather:
      case CommKind::reduce_scatter:
        if (compare_exchange(view_, group_, members, findings_)) return;
        return compare_values(members, "size_relation", "inputs", in);
      case CommKind::scatter: return compare_values(members, "size_relation", "outputs", out);
      case CommKind::barrier:
      case CommKind::unknown: return;
      default: return compare_values(members, "size_relation", "inputs", in);
    }
  }

  // Reports the members whose value isn't that of most.
  template <class ValueOf>
  void compare_values(const std::vector<MemberComm>& members, std::string_view rule,
                      std::string_view field, ValueOf value_of) {
    std::vector<decltype(value_of(CommPlace()))> values;
    for (const MemberComm& member : members) values.push_back(value_of(member.place));
    auto value = majority(values);
    auto first = std::size_t(std::find(values.begin(), values.end(), value) - values.begin());
    for (std::size_t i = 0; i < members.size(); ++i) {
      const CommPlace& place = members[i].place;
      if (values[i] == value) continue;
      findings_.push_back(error_at(rule, view_.at(place, field),
                                   fmt::format("{} in {}: expected {} as {} has it, got {}",
                                               view_.name(place), to_string(group_), value,
                                               to_string(view_, members[first].place), values[i])));
    }
  }

  CommPlace place_of(std::string_view name, const std::vector<std::string_view>& names,
                     std::size_t k) const {
    auto first = std::find(names.begin(), names.end(), name) - names.begin();
    return members_[std::size_t(first)]->collectives[k];
  }

  const JobView& view_;
  const JobGroup& group_;
  const CommFaults& faults_;
  Findings& findings_;
  std::vector<const MemberComms*> members_;  // that don't differ so far
};

}  // namespace

void compare_ranks(const JobView& view, const GroupTraffic& traffic, const CommFaults& faults,
                   Findings& findings) {
  RankComparison(view, traffic, faults, findings).compare();
}

}  // namespace simmesh::replay
