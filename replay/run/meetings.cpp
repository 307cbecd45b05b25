#include "replay/run/meetings.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

namespace simmesh::replay {

namespace {

using MessagePath = std::tuple<std::uint32_t, std::int64_t, std::int64_t>;  // group, to, from

class MeetingFinder {
 public:
  explicit MeetingFinder(const ReplayProgram& program) : program_(program) {
    for (const RankProgram& rank : program.ranks) {
      meetings_.collective_of.emplace_back(rank.steps.size());
      meetings_.message_of.emplace_back(rank.steps.size());
    }
  }

  JobMeetings find();

 private:
  void add_collective(std::size_t rank, std::uint32_t step);
  void add_message(std::size_t rank, std::uint32_t step);
  void match(std::uint32_t group, const MessageStep& sender, const MessageStep& receiver);
  void match_named_receives();
  void match_any_source();

  const ReplayProgram& program_;
  JobMeetings meetings_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> numbered_;
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint64_t> calls_;  // by group and rank
  std::map<MessagePath, std::deque<MessageStep>> sends_, receives_;
  std::vector<std::pair<std::uint32_t, MessageStep>> any_source_;  // with their groups
};

JobMeetings MeetingFinder::find() {
  for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank) {
    const auto& steps = program_.ranks[rank].steps;
    for (std::uint32_t step = 0; step < steps.size(); ++step) {
      if (steps[step].kind != ProgramStep::Kind::communicate) continue;
      is_message(steps[step].comm) ? add_message(rank, step) : add_collective(rank, step);
    }
  }
  match_named_receives();
  match_any_source();
  for (auto* sides : {&sends_, &receives_})
    for (auto& [path, steps] : *sides)
      meetings_.unmatched.insert(meetings_.unmatched.end(), steps.begin(), steps.end());
  return std::move(meetings_);
}

void MeetingFinder::add_collective(std::size_t rank, std::uint32_t step) {
  const ProgramStep& call = program_.ranks[rank].steps[step];
  std::uint64_t number = calls_[{call.group, rank}]++;
  auto [found, is_new] =
      numbered_.try_emplace({call.group, number}, std::uint32_t(meetings_.collectives.size()));
  if (is_new) {
    meetings_.collectives.push_back({.group = call.group, .number = number, .steps = {}});
    meetings_.collectives.back().steps.resize(program_.groups[call.group].members.size());
  }
  meetings_.collectives[found->second].steps[std::size_t(call.member)] = step;
  meetings_.collective_of[rank][step] = found->second;
}

void MeetingFinder::add_message(std::size_t rank, std::uint32_t step) {
  const ProgramStep& call = program_.ranks[rank].steps[step];
  if (call.comm == CommKind::send)
    sends_[{call.group, call.root, call.member}].push_back({rank, step});
  else if (call.takes_any_source)
    any_source_.push_back({call.group, {rank, step}});
  else
    receives_[{call.group, call.member, call.root}].push_back({rank, step});
}

void MeetingFinder::match(std::uint32_t group, const MessageStep& sender,
                          const MessageStep& receiver) {
  auto index = std::uint32_t(meetings_.messages.size());
  meetings_.messages.push_back({group, sender, receiver});
  meetings_.message_of[sender.rank][sender.step] = index;
  meetings_.message_of[receiver.rank][receiver.step] = index;
}

void MeetingFinder::match_named_receives() {
  for (auto& [path, receives] : receives_) {
    auto sends = sends_.find(path);
    while (sends != sends_.end() && !sends->second.empty() && !receives.empty()) {
      match(std::get<0>(path), sends->second.front(), receives.front());
      sends->second.pop_front();
      receives.pop_front();
    }
  }
}

void MeetingFinder::match_any_source() {
  for (const auto& entry : any_source_) {
    std::uint32_t group = entry.first;
    const MessageStep& receive = entry.second;
    std::int64_t to = program_.ranks[receive.rank].steps[receive.step].member;
    auto sends = sends_.lower_bound({group, to, 0});
    auto is_to_it = [&] {
      return sends != sends_.end() && std::get<0>(sends->first) == group &&
             std::get<1>(sends->first) == to;
    };
    while (is_to_it() && sends->second.empty()) ++sends;
    if (!is_to_it()) {
      meetings_.unmatched.push_back(receive);
      continue;
    }
    match(group, sends->second.front(), receive);
    sends->second.pop_front();
  }
}

}  // namespace

bool Meeting::is_complete() const {
  return std::all_of(steps.begin(), steps.end(), [](const auto& step) { return step.has_value(); });
}

JobMeetings meetings_of(const ReplayProgram& program) { return MeetingFinder(program).find(); }

const std::vector<std::int64_t>& members_of(const ReplayProgram& program, const Meeting& meeting) {
  return program.groups[meeting.group].members;
}

}  // namespace simmesh::replay
