#include "core/engine/reports/run_trace.h"

#include <algorithm>
#include <set>

#include "core/engine/reports/run_observer.h"
#include "core/trace/chrome_trace.h"

namespace simmesh {

namespace {

constexpr std::size_t traced_events = std::size_t(1) << 20;

void add_streams(ChromeTrace& chrome, const RunRecords& run) {
  std::vector<const Timeline*> logs;
  for (const Clock* clock : run.clocks) logs.push_back(&clock->timeline());
  for (std::size_t i = 0; i < logs.size(); ++i)
    for (StreamIndex stream = 0; stream < logs[i]->streams(); ++stream)
      chrome.name_track({run.ranks[i], stream + 1u},
                        fmt::format("stream {}", logs[i]->name_of(stream)));
  std::vector<OperationSpan> spans;
  resolve_times(logs, &spans);
  for (const OperationSpan& span : spans)
    chrome.add({.track = {run.ranks[span.log], span.stream + 1u},
                .begin_us = span.begin_us,
                .length_us = span.end_us - span.begin_us,
                .name = span.label.name,
                .site = span.label.site});
}

void add_notes(ChromeTrace& chrome, const RunRecords& run, bool shows_events) {
  chrome.note("program", run.options.program);
  chrome.note("seed", run.options.seed);
  chrome.note("schedule", run.options.schedule.name());
  chrome.note("time", run.clocks.empty() ? "1 us is a step of the schedule"
                      : shows_events     ? "simulated; in tracks of events 1 us is a step"
                                         : "simulated");
  // The process's bytes aren't the same in every run, so the file doesn't have them.
  chrome.note("outcome", run.outcome.ok() ? "ok" : report(run.outcome));
  chrome.note("ranks", run.outcome.ranks);
  chrome.note("steps", run.outcome.steps);
  chrome.note("schedule_hash", fmt::format("{:016x}", run.outcome.schedule_hash));
  chrome.note("events_recorded", run.events.recorded());
  chrome.note("events_dropped", run.events.recorded() - run.events.size());
}

}  // namespace

std::size_t trace_events_max(const WorldOptions& options) {
  bool is_kept = !options.trace_file.empty() || RunObserver::active();
  return is_kept ? std::max(options.trace_events_max, traced_events) : options.trace_events_max;
}

std::string run_trace(const RunRecords& run) {
  ChromeTrace chrome;
  bool shows_events = run.clocks.empty() || !run.outcome.ok();
  std::set<RankId> ranks(run.ranks.begin(), run.ranks.end()), with_events;
  if (shows_events)
    for (std::size_t i = 0; i < run.events.size(); ++i) with_events.insert(run.events[i].rank);
  ranks.insert(with_events.begin(), with_events.end());
  for (RankId rank : ranks) chrome.name_process(rank, name_of(run.options, rank));
  for (RankId rank : with_events) chrome.name_track({rank, 0}, "events by step");
  if (shows_events) add_events(chrome, run.events);
  if (!run.clocks.empty()) add_streams(chrome, run);
  add_notes(chrome, run, shows_events);
  return chrome.text();
}

}  // namespace simmesh
