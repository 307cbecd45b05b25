#include "replay/run/simulate.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "core/clock/timeline.h"

namespace simmesh::replay {

namespace {

// Labels of operations that aren't steps: computation besides the program's operators, and the time
// before a rank begins.
constexpr int computation = -1, not_begun = -2;

// DeviceLogs writes the log of each rank's device.
class DeviceLogs {
 public:
  DeviceLogs(const ReplayProgram& program, const JobMeetings& meetings, const JobCosts& costs)
      : program_(program), meetings_(meetings), costs_(costs) {
    for (const RankProgram& rank : program.ranks) number_events(rank);
    for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) write(rank);
  }

  const std::vector<Timeline>& logs() const { return logs_; }

 private:
  struct StepEvents {
    Timeline::EventIndex posted = 0, ended = 0;
  };

  static bool is_apart(const ProgramStep& step) {
    return step.kind == ProgramStep::Kind::communicate && step.is_asynchronous;
  }
  void number_events(const RankProgram& rank);
  void write(std::size_t rank);
  void write_step(std::size_t rank, std::uint32_t step);
  void launch(std::size_t rank, std::uint32_t step, StreamIndex stream);
  StreamIndex stream_of(std::size_t rank, const ProgramStep& step);

  const ReplayProgram& program_;
  const JobMeetings& meetings_;
  const JobCosts& costs_;
  std::vector<Timeline> logs_;
  std::vector<std::vector<StepEvents>> events_;                    // by rank and step
  std::map<std::pair<std::uint32_t, bool>, StreamIndex> streams_;  // of the rank that is being
                                                                   // written
  std::uint32_t never_met_ = 0;
};

// Both sides of a message refer to events of each other, so the events are numbered beforehand, in
// the order in which write records them.
void DeviceLogs::number_events(const RankProgram& rank) {
  events_.emplace_back(rank.steps.size());
  Timeline::EventIndex next = 0;
  for (std::uint32_t step = 0; step < rank.steps.size(); ++step) {
    const ProgramStep& what = rank.steps[step];
    if (what.kind != ProgramStep::Kind::communicate) continue;
    if (is_message(what.comm) || is_apart(what)) events_.back()[step].posted = next++;
    if (is_apart(what)) events_.back()[step].ended = next++;
  }
}

StreamIndex DeviceLogs::stream_of(std::size_t rank, const ProgramStep& step) {
  if (!is_apart(step)) return 0;
  Timeline& log = logs_[rank];
  auto [found, is_new] =
      streams_.try_emplace({step.group, is_message(step.comm)}, StreamIndex(log.streams()));
  if (is_new)
    log.add_stream(
        fmt::format("{} {}", is_message(step.comm) ? "messages" : "communicator", step.group));
  return found->second;
}

void DeviceLogs::launch(std::size_t rank, std::uint32_t step, StreamIndex stream) {
  Timeline& log = logs_[rank];
  const RankProgram& what = program_.ranks[rank];
  double us = costs_[rank].us[step];
  if (auto message = meetings_.message_of[rank][step]) {
    auto posted = [&](const MessageStep& side) {
      return RankEvent{std::uint32_t(side.rank), events_[side.rank][side.step].posted};
    };
    const MessageMeeting& sides = meetings_.messages[*message];
    log.launch(stream, MessageTimes{posted(sides.sender), posted(sides.receiver), us});
  } else if (auto meeting = meetings_.collective_of[rank][step]) {
    const Meeting& of = meetings_.collectives[*meeting];
    log.launch(stream, us, CollectiveKey{of.group, of.number, of.steps.size()});
  } else if (what.steps[step].comm == CommKind::recv) {
    // Nobody sends, so the other member of this collective never comes.
    auto group = std::uint32_t(program_.groups.size()) + never_met_++;
    log.launch(stream, us, CollectiveKey{group, 0, 2});
  } else {
    log.launch(stream, us);
  }
  log.label(stream, {.name = "step", .site = {.file = "", .line = int(step)}});
}

void DeviceLogs::write_step(std::size_t rank, std::uint32_t step) {
  Timeline& log = logs_[rank];
  const ProgramStep& what = program_.ranks[rank].steps[step];
  if (double us = costs_[rank].before_us[step]; us > 0) {
    log.launch(0, us);
    log.label(0, {.name = "before", .site = {.file = "", .line = computation}});
  }
  if (what.kind == ProgramStep::Kind::wait) {
    for (std::uint32_t begun : program_.ranks[rank].indices_in(what.waits))
      log.wait(0, events_[rank][begun].ended);
    return;
  }
  if (what.kind == ProgramStep::Kind::compute && costs_[rank].us[step] == 0) return;
  StreamIndex stream = stream_of(rank, what);
  bool is_posted =
      what.kind == ProgramStep::Kind::communicate && (is_message(what.comm) || is_apart(what));
  if (is_posted) {
    Timeline::EventIndex posted = log.record(0);
    if (stream != 0) log.wait(stream, posted);
  }
  launch(rank, step, stream);
  if (stream != 0) log.record(stream);
}

void DeviceLogs::write(std::size_t rank) {
  streams_.clear();
  logs_.emplace_back().add_stream("compute");
  if (double us = costs_[rank].begin_us; us > 0) {
    logs_[rank].launch(0, us);
    logs_[rank].label(0, {.name = "begin", .site = {.file = "", .line = not_begun}});
  }
  const std::vector<ProgramStep>& steps = program_.ranks[rank].steps;
  for (std::uint32_t step = 0; step < steps.size(); ++step) write_step(rank, step);
  if (double us = costs_[rank].after_us; us > 0) {
    logs_[rank].launch(0, us);
    logs_[rank].label(0, {.name = "after", .site = {.file = "", .line = computation}});
  }
}

// Returns the number of elements of a step's tensors, as the trace counts them.
std::int64_t elements_in(const RankProgram& rank, TraceRange tensors) {
  std::int64_t sum = 0;
  for (const ProgramTensor& tensor : rank.tensors_in(tensors)) sum += tensor.elements;
  return sum;
}

TimelineComm comm_of(const RankProgram& rank, const ReplayProgram& program, std::uint32_t step) {
  const ProgramStep& what = rank.steps[step];
  auto in_split = rank.numbers_in(what.in_split), out_split = rank.numbers_in(what.out_split);
  TimelineComm comm{.name = std::string(rank.texts[what.name]),
                    .group = what.group,
                    .group_size = std::int64_t(program.groups[what.group].members.size()),
                    .peer = is_message(what.comm) && !what.takes_any_source ? what.root : -1,
                    .in_elements = elements_in(rank, what.inputs),
                    .out_elements = elements_in(rank, what.outputs),
                    .in_split = {in_split.begin(), in_split.end()},
                    .out_split = {out_split.begin(), out_split.end()}};
  for (TraceRange tensors : {what.outputs, what.inputs})
    for (const ProgramTensor& tensor : rank.tensors_in(tensors))
      comm.item_bytes = std::int64_t(bytes_per_element(tensor.dtype));
  return comm;
}

RankTimeline timeline_of(const ReplayProgram& program, std::size_t rank,
                         gsl::span<const OperationSpan> spans, double begin_us,
                         const DeviceReport& report) {
  const RankProgram& what = program.ranks[rank];
  RankTimeline timeline;
  timeline.rank = what.rank;
  for (const DeviceReport::Stream& stream : report.streams)
    timeline.tracks.push_back({.name = stream.name});
  std::map<std::uint32_t, std::uint32_t> comm_spans;  // by step
  for (const OperationSpan& span : spans) {
    int step = span.label.site.line;
    if (step == not_begun) continue;
    TimelineSpan made{.begin_us = span.begin_us,
                      .end_us = span.end_us,
                      .name = timeline.texts.id_of("computation"),
                      .track = span.stream};
    if (step != computation) {
      const ProgramStep& of = what.steps[std::size_t(step)];
      made.name = timeline.texts.id_of(what.texts[of.name]);
      if (of.kind == ProgramStep::Kind::communicate) {
        made.kind = SpanKind::communication;
        comm_spans[std::uint32_t(step)] = std::uint32_t(timeline.spans.size());
      }
    }
    timeline.spans.push_back(made);
  }
  for (const auto& [step, span] : comm_spans) {
    TimelineComm comm = comm_of(what, program, step);
    comm.span = span;
    timeline.spans[span].comm = std::uint32_t(timeline.comms.size());
    timeline.spans[span].bytes = std::max(comm.in_elements, comm.out_elements) * comm.item_bytes;
    timeline.comms.push_back(std::move(comm));
  }
  timeline.events = timeline.spans.size();
  timeline.steps.push_back(
      {.name = "replay", .begin_us = begin_us, .end_us = std::max(begin_us, report.makespan_us)});
  sort_spans(timeline);
  return timeline;
}

}  // namespace

bool SimulatedJob::is_complete() const {
  return std::all_of(reports.begin(), reports.end(),
                     [](const DeviceReport& report) { return report.is_complete; });
}

SimulatedJob simulate(const ReplayProgram& program, const JobMeetings& meetings,
                      const JobCosts& costs) {
  DeviceLogs logs(program, meetings, costs);
  std::vector<const Timeline*> views;
  for (const Timeline& log : logs.logs()) views.push_back(&log);
  std::vector<OperationSpan> spans;
  SimulatedJob job;
  job.reports = resolve_times(views, &spans);
  job.timeline.world_size = std::int64_t(program.ranks.size());
  for (const JobGroup& group : program.groups)
    job.timeline.groups.push_back(
        {.name = fmt::format("group {}", job.timeline.groups.size()), .members = group.members});
  auto begin = spans.begin();
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    auto end = std::find_if(begin, spans.end(),
                            [&](const OperationSpan& span) { return span.log != rank; });
    job.timeline.ranks.push_back(timeline_of(
        program, rank,
        gsl::span(spans).subspan(std::size_t(begin - spans.begin()), std::size_t(end - begin)),
        costs[rank].begin_us, job.reports[rank]));
    begin = end;
  }
  return job;
}

}  // namespace simmesh::replay
