#include "replay/validate/match_messages.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

namespace simmesh::replay {

namespace {

// MessageChannel is a sender and a receiver, by their places in the group.
using MessageChannel = std::pair<std::int64_t, std::int64_t>;

constexpr std::int64_t any_rank = -1;

struct ChannelMessages {
  std::vector<CommPlace> sends;
  std::vector<CommPlace> receives;
};

// MessageMatch matches the messages of one group.
class MessageMatch {
 public:
  MessageMatch(const JobView& view, const GroupTraffic& traffic, Findings& findings)
      : view_(view), group_(*traffic.group), findings_(findings) {
    for (const MemberComms& member : traffic.members) present_.insert(member.index);
    for (const MemberComms& member : traffic.members)
      for (const CommPlace& place : member.messages) add(member.index, place);
  }

  void match() {
    for (auto& [channel, messages] : channels_) {
      std::size_t pairs = std::min(messages.sends.size(), messages.receives.size());
      for (std::size_t k = 0; k < pairs; ++k) compare(messages.sends[k], messages.receives[k]);
      drop_taken(channel, messages, pairs);
      if (messages.sends.size() == messages.receives.size()) continue;
      report(channel, messages, pairs);
    }
    for (const auto& [receiver, places] : from_any_)
      for (const CommPlace& place : places)
        findings_.push_back(error_at("p2p_unmatched", view_.at(place, "rank"),
                                     "a receive from any rank, for which no send is left"));
  }

 private:
  void add(std::int64_t index, const CommPlace& place) {
    std::int64_t peer = view_.comm(place).rank;
    bool is_send = view_.kind(place) == CommKind::send;
    if (!is_send && peer == any_rank) {
      from_any_[index].push_back(place);
      return;
    }
    if (!present_.contains(peer)) return;
    ChannelMessages& messages =
        channels_[is_send ? MessageChannel(index, peer) : MessageChannel(peer, index)];
    (is_send ? messages.sends : messages.receives).push_back(place);
  }

  // Sends that remain go to receives from any rank.
  void drop_taken(const MessageChannel& channel, ChannelMessages& messages, std::size_t pairs) {
    auto open = from_any_.find(channel.second);
    if (open == from_any_.end()) return;
    std::vector<CommPlace>& receives = open->second;
    while (messages.sends.size() > pairs && !receives.empty()) {
      messages.sends.pop_back();
      receives.erase(receives.begin());
    }
    if (receives.empty()) from_any_.erase(open);
  }

  void compare(const CommPlace& send, const CommPlace& receive) {
    const TraceComm& sent = view_.comm(send);
    const TraceComm& received = view_.comm(receive);
    std::string_view dtype = view_.trace(send).text(sent.dtype);
    std::string_view other = view_.trace(receive).text(received.dtype);
    if (dtype != other)
      findings_.push_back(error_at(
          "dtype", view_.at(receive, "dtype"),
          fmt::format("expected {} as {} sends it, got {}", dtype, to_string(view_, send), other)));
    if (sent.in_elements != received.out_elements)
      findings_.push_back(
          error_at("size_relation", view_.at(receive, "outputs"),
                   fmt::format("expected {} elements as {} sends them, got {}", sent.in_elements,
                               to_string(view_, send), received.out_elements)));
  }

  void report(const MessageChannel& channel, const ChannelMessages& messages, std::size_t pairs) {
    bool is_send = messages.sends.size() > messages.receives.size();
    const CommPlace& first = is_send ? messages.sends[pairs] : messages.receives[pairs];
    findings_.push_back(error_at(
        "p2p_unmatched", view_.at(first, "rank"),
        fmt::format("{} {} that rank {} never {}: {} sends and {} receives from rank {} to rank {} "
                    "in {}",
                    to_string(view_, first), is_send ? "sends" : "receives",
                    global(is_send ? channel.second : channel.first),
                    is_send ? "receives" : "sends", messages.sends.size(), messages.receives.size(),
                    global(channel.first), global(channel.second), to_string(group_))));
  }

  std::int64_t global(std::int64_t index) const { return group_.members[std::size_t(index)]; }

  const JobView& view_;
  const JobGroup& group_;
  Findings& findings_;
  std::set<std::int64_t> present_;
  std::map<MessageChannel, ChannelMessages> channels_;
  std::map<std::int64_t, std::vector<CommPlace>> from_any_;
};

}  // namespace

void match_messages(const JobView& view, const GroupTraffic& traffic, Findings& findings) {
  MessageMatch(view, traffic, findings).match();
}

}  // namespace simmesh::replay
