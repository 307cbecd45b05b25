#include "core/clock/timeline.h"

#include <algorithm>
#include <map>

#include "core/check/check.h"

namespace simmesh {

void Timeline::add(StreamIndex stream, Entry entry) {
  entry.host_waits = std::uint32_t(host_waits_.size());
  streams_[stream].entries.push_back(entry);
}

void Timeline::launch(StreamIndex stream, double cost_us) {
  add(stream, {.kind = Kind::launch, .cost_us = cost_us});
}

void Timeline::launch(StreamIndex stream, double cost_us, const CollectiveKey& key) {
  streams_[stream].communicates = true;
  add(stream, {.kind = Kind::collective, .index = std::uint32_t(keys_.size()), .cost_us = cost_us});
  keys_.push_back(key);
}

void Timeline::launch(StreamIndex stream, const MessageTimes& message) {
  streams_[stream].communicates = true;
  add(stream, {.kind = Kind::message, .index = std::uint32_t(messages_.size())});
  messages_.push_back(message);
}

Timeline::EventIndex Timeline::record(StreamIndex stream) {
  EventIndex event = EventIndex(event_streams_.size());
  event_streams_.push_back(stream);
  add(stream, {.kind = Kind::record, .index = event});
  return event;
}

void Timeline::wait(StreamIndex stream, EventIndex event) {
  add(stream, {.kind = Kind::wait, .index = event});
}

void Timeline::wait(StreamIndex stream, const MessageTimes& message) {
  add(stream, {.kind = Kind::wait_message, .index = std::uint32_t(messages_.size())});
  messages_.push_back(message);
}

void Timeline::synchronize(EventIndex event) { host_waits_.push_back(event); }

// Advances all streams of all ranks as far as it can, again and again: a rank is visited again when
// a collective that it takes part in got its time, or when the other side of a message may have.
// The order of these visits changes no time, since each time is a sum or a maximum of others.
class TimelineResolver {
 public:
  TimelineResolver(gsl::span<const Timeline* const> ranks, std::vector<OperationSpan>* spans);
  std::vector<DeviceReport> resolve();

 private:
  static constexpr double unknown_us = -1;

  struct StreamState {
    std::size_t next = 0;  // entry
    double ready_us = 0;
    bool has_arrived = false;  // at the collective that is next
  };
  struct RankState {
    const Timeline* log;
    std::vector<StreamState> streams;
    std::vector<double> events_us;
    std::vector<double> host_us = {0};  // after each wait of the host that is resolved
    // The stream that the host waited for last, after each wait.
    std::vector<StreamIndex> host_waited_for = {0};
    std::vector<double> collectives_us;  // when each ends
    // By group: the number of its collectives that have ended, and the end of the last one.
    std::map<std::uint32_t, std::pair<std::uint64_t, double>> communicators;
    std::vector<std::size_t> watchers;  // ranks that wait for an event of this one
    bool is_queued = false;
    DeviceReport report;
  };
  // A collective that some members haven't reached yet.
  struct Meeting {
    double ready_us = 0;
    double cost_us = 0;
    std::vector<std::pair<std::size_t, std::uint32_t>> members;  // rank, and its collective there
  };

  void queue(std::size_t rank);
  void advance(std::size_t rank);
  bool step(std::size_t rank, StreamIndex stream);
  bool host_is_ready(RankState& rank, const Timeline::Entry& entry);
  bool step_collective(std::size_t rank, StreamIndex stream, const Timeline::Entry& entry);
  bool step_message(std::size_t rank, StreamIndex stream, const Timeline::Entry& entry);
  void begin_at(RankState& rank, StreamIndex stream, double time_us, bool is_exposed);
  void begin_behind(RankState& rank, StreamIndex stream, StreamIndex waited_for, double time_us,
                    bool is_exposed);
  void end_operation(std::size_t rank, StreamIndex stream, double begin_us, double end_us);
  void finish(RankState& rank);

  std::vector<OperationSpan>* spans_;
  std::vector<RankState> ranks_;
  std::vector<std::size_t> queue_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Meeting> meetings_;
};

TimelineResolver::TimelineResolver(gsl::span<const Timeline* const> ranks,
                                   std::vector<OperationSpan>* spans)
    : spans_(spans) {
  for (const Timeline* log : ranks) {
    RankState rank{.log = log};
    rank.streams.resize(log->streams_.size());
    rank.events_us.assign(log->event_streams_.size(), unknown_us);
    rank.collectives_us.assign(log->keys_.size(), unknown_us);
    for (const Timeline::Stream& stream : log->streams_)
      rank.report.streams.push_back({.name = stream.name});
    ranks_.push_back(std::move(rank));
  }
}

void TimelineResolver::queue(std::size_t rank) {
  if (std::exchange(ranks_[rank].is_queued, true)) return;
  queue_.push_back(rank);
}

std::vector<DeviceReport> TimelineResolver::resolve() {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) queue(rank);
  while (!queue_.empty()) {
    std::size_t rank = queue_.back();
    queue_.pop_back();
    ranks_[rank].is_queued = false;
    advance(rank);
  }
  std::vector<DeviceReport> reports;
  for (RankState& rank : ranks_) {
    finish(rank);
    reports.push_back(std::move(rank.report));
  }
  return reports;
}

void TimelineResolver::advance(std::size_t rank) {
  bool moves = true, has_moved = false;
  while (moves) {
    moves = false;
    for (StreamIndex stream = 0; stream < ranks_[rank].streams.size(); ++stream)
      while (step(rank, stream)) has_moved = moves = true;
  }
  if (!has_moved) return;
  for (std::size_t watcher : std::exchange(ranks_[rank].watchers, {})) queue(watcher);
}

bool TimelineResolver::host_is_ready(RankState& rank, const Timeline::Entry& entry) {
  while (rank.host_us.size() <= entry.host_waits) {
    double event_us = rank.events_us[rank.log->host_waits_[rank.host_us.size() - 1]];
    if (event_us == unknown_us) return false;
    bool has_waited = event_us > rank.host_us.back();
    StreamIndex stream = rank.log->event_streams_[rank.log->host_waits_[rank.host_us.size() - 1]];
    rank.host_waited_for.push_back(has_waited ? stream : rank.host_waited_for.back());
    rank.host_us.push_back(std::max(rank.host_us.back(), event_us));
  }
  return true;
}

// Moves a stream's time forward to time_us. The first stream is idle until then; that counts as
// exposed where it waits for communication.
void TimelineResolver::begin_at(RankState& rank, StreamIndex stream, double time_us,
                                bool is_exposed) {
  StreamState& state = rank.streams[stream];
  if (time_us <= state.ready_us) return;
  if (stream == 0 && is_exposed) rank.report.exposed_communication_us += time_us - state.ready_us;
  state.ready_us = time_us;
}

// Does the same where the stream waits for another stream.
void TimelineResolver::begin_behind(RankState& rank, StreamIndex stream, StreamIndex waited_for,
                                    double time_us, bool is_exposed) {
  double idle_us = time_us - rank.streams[stream].ready_us;
  if (stream == 0 && idle_us > 0) rank.report.streams[waited_for].exposed_us += idle_us;
  begin_at(rank, stream, time_us, is_exposed);
}

bool TimelineResolver::step(std::size_t at, StreamIndex stream) {
  RankState& rank = ranks_[at];
  StreamState& state = rank.streams[stream];
  const std::vector<Timeline::Entry>& entries = rank.log->streams_[stream].entries;
  if (state.next == entries.size()) return false;
  const Timeline::Entry& entry = entries[state.next];
  if (!host_is_ready(rank, entry)) return false;
  auto communicates = [&](Timeline::EventIndex event) {
    return rank.log->streams_[rank.log->event_streams_[event]].communicates;
  };
  if (entry.kind == Timeline::Kind::wait_message) return step_message(at, stream, entry);
  if (entry.kind == Timeline::Kind::wait) {
    double event_us = rank.events_us[entry.index];
    if (event_us == unknown_us) return false;
    begin_behind(rank, stream, rank.log->event_streams_[entry.index], event_us,
                 communicates(entry.index));
  } else if (entry.kind == Timeline::Kind::record) {
    rank.events_us[entry.index] = state.ready_us;
  } else {
    bool host_waited = entry.host_waits > 0;
    begin_behind(rank, stream, rank.host_waited_for[entry.host_waits],
                 rank.host_us[entry.host_waits],
                 host_waited && communicates(rank.log->host_waits_[entry.host_waits - 1]));
    if (entry.kind == Timeline::Kind::collective) return step_collective(at, stream, entry);
    if (entry.kind == Timeline::Kind::message) return step_message(at, stream, entry);
    // The next operation begins at this very time, to the last bit.
    double begin_us = state.ready_us;
    state.ready_us += entry.cost_us;
    rank.report.streams[stream].busy_us += entry.cost_us;
    end_operation(at, stream, begin_us, state.ready_us);
  }
  ++state.next;
  return true;
}

// Returns whether the stream advances. The last member to come gives all of them the time.
bool TimelineResolver::step_collective(std::size_t at, StreamIndex stream,
                                       const Timeline::Entry& entry) {
  RankState& rank = ranks_[at];
  StreamState& state = rank.streams[stream];
  const CollectiveKey& key = rank.log->keys_[entry.index];
  double end_us = rank.collectives_us[entry.index];
  if (end_us != unknown_us) {
    rank.report.streams[stream].busy_us += end_us - state.ready_us;
    end_operation(at, stream, state.ready_us, end_us);
    begin_at(rank, stream, end_us, true);
    state.has_arrived = false;
    ++state.next;
    return true;
  }
  auto& [ended, communicator_us] = rank.communicators[key.group];
  if (state.has_arrived || ended < key.sequence) return false;
  state.has_arrived = true;
  begin_at(rank, stream, communicator_us, true);
  auto place = meetings_.try_emplace({key.group, key.sequence}).first;
  Meeting& meeting = place->second;
  meeting.ready_us = std::max(meeting.ready_us, state.ready_us);
  meeting.cost_us = std::max(meeting.cost_us, entry.cost_us);
  meeting.members.emplace_back(at, entry.index);
  if (meeting.members.size() < key.members) return false;
  double all_end_us = meeting.ready_us + meeting.cost_us;
  for (auto& [member, index] : meeting.members) {
    ranks_[member].collectives_us[index] = all_end_us;
    ranks_[member].communicators[key.group] = {key.sequence + 1, all_end_us};
    if (member != at) queue(member);
  }
  meetings_.erase(place);
  return step_collective(at, stream, entry);
}

// Returns whether both sides' events have their times, so that the stream advances.
bool TimelineResolver::step_message(std::size_t at, StreamIndex stream,
                                    const Timeline::Entry& entry) {
  RankState& rank = ranks_[at];
  const MessageTimes& message = rank.log->messages_[entry.index];
  double end_us = 0;
  for (const RankEvent& side : {message.sender, message.receiver}) {
    double side_us = ranks_[side.rank].events_us[side.event];
    if (side_us == unknown_us) {
      ranks_[side.rank].watchers.push_back(at);
      return false;
    }
    end_us = std::max(end_us, side_us);
  }
  end_us += message.cost_us;
  StreamState& state = rank.streams[stream];
  if (entry.kind == Timeline::Kind::message) {
    rank.report.streams[stream].busy_us += std::max(0.0, end_us - state.ready_us);
    end_operation(at, stream, state.ready_us, std::max(state.ready_us, end_us));
  }
  begin_at(rank, stream, end_us, true);
  ++state.next;
  return true;
}

// Counts an operation. The labels of a stream are in the order in which its operations end.
void TimelineResolver::end_operation(std::size_t rank, StreamIndex stream, double begin_us,
                                     double end_us) {
  std::uint64_t index = ranks_[rank].report.streams[stream].operations++;
  const std::vector<OperationLabel>& labels = ranks_[rank].log->streams_[stream].labels;
  if (spans_ && index < labels.size())
    spans_->push_back({rank, stream, begin_us, end_us, labels[index]});
}

void TimelineResolver::finish(RankState& rank) {
  for (std::size_t i = 0; i < rank.streams.size(); ++i) {
    rank.report.makespan_us = std::max(rank.report.makespan_us, rank.streams[i].ready_us);
    rank.report.is_complete &= rank.streams[i].next == rank.log->streams_[i].entries.size();
  }
}

std::vector<DeviceReport> resolve_times(gsl::span<const Timeline* const> ranks,
                                        std::vector<OperationSpan>* spans) {
  std::vector<DeviceReport> reports = TimelineResolver(ranks, spans).resolve();
  // The operations of a stream were added in their order.
  if (spans)
    std::stable_sort(spans->begin(), spans->end(),
                     [](const OperationSpan& a, const OperationSpan& b) {
                       return std::pair(a.log, a.stream) < std::pair(b.log, b.stream);
                     });
  return reports;
}

}  // namespace simmesh
