#include "gate/records/run_timeline.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace simmesh {

namespace {

using Span = TimelineSection::Span;

std::string site_text(const CallSite& site) { return site.line > 0 ? to_string(site) : ""; }

// Joint is one collective of a group.
struct Joint {
  std::uint32_t group;
  std::uint32_t sequence;
  auto operator<=>(const Joint&) const = default;
};

// Returns the spans of the engine's events. The place of an event in the run's trace is its time:
// several events of a rank may share a step of the schedule.
std::vector<Span> spans_of(const Trace& trace) {
  std::vector<Span> spans;
  std::map<Joint, std::vector<std::size_t>> arrivals;
  std::map<std::uint32_t, std::size_t> members;  // of each group, as far as the events show them
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Event& event = trace[i];
    std::string name(to_string(event.kind));
    bool is_joint = event.kind == EventKind::arrive;
    if (*event.operation != '\0')
      name = is_joint ? event.operation : fmt::format("{} {}", name, event.operation);
    if (is_joint) {
      std::vector<std::size_t>& joint = arrivals[{event.group, event.sequence}];
      joint.push_back(spans.size());
      members[event.group] = std::max(members[event.group], joint.size());
    }
    spans.push_back({.rank = event.rank,
                     .begin = std::int64_t(i),
                     .length = 1,
                     .name = std::move(name),
                     .site = site_text(event.site)});
  }
  auto end = std::int64_t(trace.size());
  for (const auto& [joint, arrived] : arrivals) {
    bool is_complete = arrived.size() == members[joint.group];
    std::int64_t until = is_complete ? spans[arrived.back()].begin + 1 : end;
    for (std::size_t member : arrived) {
      spans[member].length = until - spans[member].begin;
      if (!is_complete) spans[member].name += ", incomplete";
    }
  }
  return spans;
}

std::vector<Span> spans_of(gsl::span<const Clock* const> clocks, gsl::span<const RankId> ranks) {
  std::vector<const Timeline*> logs;
  for (const Clock* clock : clocks) logs.push_back(&clock->timeline());
  std::vector<OperationSpan> operations;
  resolve_times(logs, &operations);
  std::vector<Span> spans;
  auto ticks = [](double time_us) { return std::int64_t(std::llround(time_us * 1000)); };
  for (const OperationSpan& operation : operations)
    spans.push_back({.rank = ranks[operation.log],
                     .track = logs[operation.log]->name_of(operation.stream),
                     .begin = ticks(operation.begin_us),
                     .length = ticks(operation.end_us) - ticks(operation.begin_us),
                     .name = operation.label.name,
                     .site = site_text(operation.label.site)});
  return spans;
}

}  // namespace

TimelineSection::About about_timeline(const RunRecords& run) {
  if (!run.clocks.empty())
    return {.title = "Timeline of the simulated devices",
            .unit = "us",
            .about = "Each track is a stream of a rank's device, in simulated time."};
  TimelineSection::About about = {
      .title = "Timeline of the schedule",
      .unit = "event",
      .about =
          "Each track is a rank. Time counts the events of the run in the order of its "
          "schedule. A collective lasts from the arrival of a rank to that of the last "
          "member."};
  if (run.events.recorded() > run.events.size())
    about.about += fmt::format(" The first {} events were dropped.",
                               run.events.recorded() - run.events.size());
  return about;
}

void add_spans(const RunRecords& run, TimelineSection& timeline) {
  std::vector<Span> spans =
      run.clocks.empty() ? spans_of(run.events) : spans_of(run.clocks, run.ranks);
  for (const Span& span : spans) timeline.add(span);
}

}  // namespace simmesh
