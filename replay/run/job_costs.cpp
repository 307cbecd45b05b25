#include "replay/run/job_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check/error.h"

namespace simmesh::replay {

namespace {

std::vector<std::uint32_t> recorded_steps(const RankProgram& rank, bool with_barriers) {
  std::vector<std::uint32_t> steps;
  for (std::uint32_t step = 0; step < rank.steps.size(); ++step) {
    const ProgramStep& what = rank.steps[step];
    if (what.kind != ProgramStep::Kind::communicate) continue;
    if (has_data(what.comm) || with_barriers) steps.push_back(step);
  }
  return steps;
}

JobCosts costs_of_nothing(const ReplayProgram& program) {
  JobCosts costs;
  for (const RankProgram& rank : program.ranks) {
    std::vector<double> zeros(rank.steps.size());
    costs.push_back({.before_us = zeros, .us = zeros});
  }
  return costs;
}

// Returns the recorded span around the communications of one rank: its step, or the whole timeline.
CommSpan span_around(const RankTimeline& timeline, double first_us, double last_us) {
  CommSpan around{.begin_us = first_us, .end_us = last_us};
  const TimelineStep* first = nullptr;
  const TimelineStep* last = nullptr;
  for (const TimelineStep& step : timeline.steps) {
    if (step.begin_us <= first_us) first = &step;
    if (step.begin_us <= last_us) last = &step;
  }
  if (first) around.begin_us = first->begin_us;
  if (last) around.end_us = std::max(last_us, last->end_us);
  for (const TimelineSpan& span : timeline.spans) {
    if (!first) around.begin_us = std::min(around.begin_us, span.begin_us);
    if (!last) around.end_us = std::max(around.end_us, span.end_us);
  }
  return around;
}

// Walks along one rank's program with its recorded spans, and finds the computation in between.
void add_recorded_computation(const RankProgram& rank,
                              const std::vector<std::optional<CommSpan>>& spans,
                              const RankTimeline& timeline, RankCosts& costs) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double first_us = infinity, last_us = -infinity;
  for (const auto& span : spans) {
    if (!span) continue;
    first_us = std::min(first_us, span->begin_us);
    last_us = std::max(last_us, span->end_us);
  }
  if (first_us > last_us) return;
  CommSpan around = span_around(timeline, first_us, last_us);
  costs.begin_us = around.begin_us;
  double now_us = around.begin_us;
  for (std::uint32_t step = 0; step < rank.steps.size(); ++step) {
    const ProgramStep& what = rank.steps[step];
    for (std::uint32_t begun : rank.indices_in(what.waits))
      if (spans[begun]) now_us = std::max(now_us, spans[begun]->end_us);
    if (!spans[step]) continue;
    costs.before_us[step] = std::max(0.0, spans[step]->begin_us - now_us);
    now_us = std::max(now_us, what.is_asynchronous ? spans[step]->begin_us : spans[step]->end_us);
  }
  costs.after_us = std::max(0.0, around.end_us - now_us);
}

}  // namespace

JobCosts modelled_costs(const ReplayProgram& program, const JobMeetings& meetings,
                        const DeviceModel& model, const CommChoices& choices) {
  JobCosts costs = costs_of_nothing(program);
  std::vector<double> collective_us, message_us;
  for (const Meeting& meeting : meetings.collectives)
    collective_us.push_back(comm_us(program, meeting, model.topology, choices));
  for (const MessageMeeting& message : meetings.messages)
    message_us.push_back(comm_us(program, message, model.topology));
  for (std::size_t rank = 0; rank < costs.size(); ++rank) {
    const RankProgram& what = program.ranks[rank];
    for (std::uint32_t step = 0; step < what.steps.size(); ++step) {
      double& us = costs[rank].us[step];
      us = operator_us(what.steps[step], model);
      if (auto meeting = meetings.collective_of[rank][step]) us = collective_us[*meeting];
      if (auto message = meetings.message_of[rank][step]) us = message_us[*message];
    }
  }
  return costs;
}

CommSpans comm_spans(const ReplayProgram& program, const JobTimeline& timeline) {
  CommSpans spans;
  for (const RankProgram& rank : program.ranks) {
    const RankTimeline* recorded = timeline.find(rank.rank);
    if (!recorded)
      raise(ErrorKind::value_error, "replay/job_costs",
            "expected a timeline of rank {}, got those of {} ranks", rank.rank,
            timeline.ranks.size());
    std::vector<std::uint32_t> steps = recorded_steps(rank, false);
    if (steps.size() != recorded->comms.size()) steps = recorded_steps(rank, true);
    if (steps.size() != recorded->comms.size())
      raise(ErrorKind::value_error, "replay/job_costs",
            "rank {}: expected a timeline with the {} communications of the trace, got {}; choose "
            "the steps of the trace that it covers",
            rank.rank, steps.size(), recorded->comms.size());
    spans.emplace_back(rank.steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const TimelineSpan& span = recorded->span_of(recorded->comms[i]);
      spans.back()[steps[i]] = CommSpan{span.begin_us, span.end_us};
    }
  }
  return spans;
}

double effective_us(const ReplayProgram& program, const Meeting& meeting, const CommSpans& spans) {
  double shortest = std::numeric_limits<double>::infinity();
  for (std::size_t member = 0; member < meeting.steps.size(); ++member) {
    if (!meeting.steps[member]) continue;
    const auto& span =
        spans[std::size_t(members_of(program, meeting)[member])][*meeting.steps[member]];
    if (span) shortest = std::min(shortest, span->length_us());
  }
  return std::isinf(shortest) ? 0 : shortest;
}

JobCosts recorded_costs(const ReplayProgram& program, const JobMeetings& meetings,
                        const JobTimeline& timeline) {
  auto spans = comm_spans(program, timeline);
  JobCosts costs = costs_of_nothing(program);
  for (std::size_t rank = 0; rank < costs.size(); ++rank)
    add_recorded_computation(program.ranks[rank], spans[rank],
                             *timeline.find(program.ranks[rank].rank), costs[rank]);
  double first_us = std::numeric_limits<double>::infinity();
  for (const RankCosts& rank : costs) first_us = std::min(first_us, rank.begin_us);
  for (RankCosts& rank : costs) rank.begin_us -= first_us;
  for (const Meeting& meeting : meetings.collectives) {
    double us = effective_us(program, meeting, spans);
    for (std::size_t member = 0; member < meeting.steps.size(); ++member)
      if (meeting.steps[member])
        costs[std::size_t(members_of(program, meeting)[member])].us[*meeting.steps[member]] = us;
  }
  for (const MessageMeeting& message : meetings.messages) {
    double us = std::min(spans[message.sender.rank][message.sender.step]->length_us(),
                         spans[message.receiver.rank][message.receiver.step]->length_us());
    for (const MessageStep& side : {message.sender, message.receiver})
      costs[side.rank].us[side.step] = us;
  }
  return costs;
}

}  // namespace simmesh::replay
