#include "gate/compare_releases.h"

#include <algorithm>
#include <fmt/format.h>

#include "gate/run_gate.h"

namespace simmesh {

namespace {

static_assert(releases.size() == 2, "the newest is compared with the oldest");

using Values = std::array<std::string, releases.size()>;

// ReleaseRun is a run of a gate under one release.
struct ReleaseRun {
  GateRunOptions options;
  GateResult result;
  GateRun run;  // with details
};

std::map<std::string, std::string> checks_of(const ReleaseRun& run) {
  std::map<std::string, std::string> checks;
  for (const GateCheck& check : run.result.checks)
    checks["check " + check.name] = check.passed ? "pass" : "FAIL: " + check.actual;
  return checks;
}

std::map<std::string, std::string> plans_of(const ReleaseRun& run) {
  std::map<std::string, std::string> plans;
  for (const auto& [request, plan] : run.run.plans)
    plans["plan of " + request] = plan.empty() ? "nothing to do" : plan;
  return plans;
}

std::map<std::string, std::string> collectives_of(const ReleaseRun& run) {
  std::map<std::string, std::uint64_t> calls;
  for (const RankFindings& found : run.run.ranks)
    for (std::size_t op = 0; op < collective_op_count; ++op)
      if (found.calls[op] > 0) calls[name_of(CollectiveOp(op))] += found.calls[op];
  std::map<std::string, std::string> texts;
  for (const auto& [name, number] : calls) texts["calls of " + name] = std::to_string(number);
  return texts;
}

std::map<std::string, std::string> reductions_of(const ReleaseRun& run) {
  std::map<std::string, std::uint64_t> calls;
  for (const RankFindings& found : run.run.ranks)
    for (const auto& [kind, number] : found.reductions) calls[kind] += number;
  std::map<std::string, std::string> texts;
  for (const auto& [kind, number] : calls) texts["calls of " + kind] = std::to_string(number);
  return texts;
}

std::map<std::string, std::string> memory_of(const ReleaseRun& run) {
  return {{"peak bytes of a rank", std::to_string(run.result.peak_bytes)}};
}

std::map<std::string, std::string> device_of(const ReleaseRun& run) {
  if (!run.result.device) return {};
  const DeviceFigures& figures = *run.result.device;
  return {{"device: us", fmt::format("{:.1f}", figures.makespan_us)},
          {"device: us of exposed communication",
           fmt::format("{:.1f}", figures.exposed_communication_us)},
          {"device: reserved bytes", std::to_string(figures.reserved_bytes)}};
}

std::map<std::string, std::string> losses_of(const ReleaseRun& run) {
  std::map<std::string, std::string> losses;
  for (std::size_t step = 0; step < run.result.losses.size(); ++step)
    losses[fmt::format("loss of step {}", step)] = fmt::format("{}", run.result.losses[step]);
  return losses;
}

// EventPlace is a rank and a step whose events differ.
struct EventPlace {
  std::size_t rank;  // among those that ran
  std::size_t step;
};

std::vector<EventPlace> places_of_other_events(const GateRun& a, const GateRun& b) {
  std::vector<EventPlace> places;
  std::size_t steps = a.ranks.front().event_hashes.size();
  for (std::size_t step = 0; step < steps; ++step)
    for (std::size_t rank = 0; rank < a.ranks.size(); ++rank)
      if (a.ranks[rank].event_hashes[step] != b.ranks[rank].event_hashes[step])
        places.push_back({rank, step});
  return places;
}

// Comparer compares the runs of a gate under all releases.
class Comparer {
 public:
  Comparer(const GateFile& gate, const GateRunOptions& options) : gate_(gate) {
    for (std::size_t i = 0; i < releases.size(); ++i) run_under(i, options);
  }

  ReleaseComparison all() {
    found_.file = gate_.file;
    found_.title = gate_.title;
    compare("checks", checks_of);
    bool all_ended = std::all_of(runs_.begin(), runs_.end(),
                                 [](const ReleaseRun& run) { return run.run.outcome.ok(); });
    if (!all_ended) return std::move(found_);
    compare("plans", plans_of);
    compare_events();
    compare("collectives", collectives_of);
    compare("reductions", reductions_of);
    compare("peak bytes", memory_of);
    if (gate_.device) compare("device", device_of);
    if (gate_.world.shapes_only) return std::move(found_);
    compare("losses", losses_of);
    compare_results();
    return std::move(found_);
  }

 private:
  void run_under(std::size_t i, GateRunOptions options) {
    ReleaseRun& run = runs_[i];
    run.options = std::move(options);
    run.options.release = releases[i];
    run.result = run_gate(gate_, run.options);
    GateRunner runner(gate_, run.options);
    GateRunner::Request request{
        .schedule = runner.schedule_at(0), .keep_record = i == 0, .has_details = true};
    if (const std::vector<RankFindings>& first = runs_.front().run.ranks;
        i > 0 && !first.empty() && first.front().record)
      request.expected.push_back(&*first.front().record);
    run.run = runner.run(request);
  }

  void add(std::string what, Values values) {
    found_.differences.push_back({std::move(what), std::move(values)});
  }

  // Adds a row for each name whose values differ; a release without the name has "none".
  void compare(std::string_view subject,
               std::map<std::string, std::string> (*figures_of)(const ReleaseRun&)) {
    std::map<std::string, Values> by_name;
    for (std::size_t i = 0; i < releases.size(); ++i)
      for (auto& [name, value] : figures_of(runs_[i])) by_name[name][i] = value;
    std::size_t before = found_.differences.size();
    for (auto& [name, values] : by_name) {
      for (std::string& value : values)
        if (value.empty()) value = "none";
      if (values.front() != values.back()) add(name, values);
    }
    if (found_.differences.size() == before) found_.same.emplace_back(subject);
  }

  void compare_events() {
    std::vector<EventPlace> places = places_of_other_events(runs_.front().run, runs_.back().run);
    if (places.empty()) {
      found_.same.emplace_back("events");
      return;
    }
    EventPlace first = places.front();
    std::vector<std::string> older = events_at(first, 0), newer = events_at(first, 1);
    std::size_t n = 0;
    while (n < older.size() && n < newer.size() && older[n] == newer[n]) ++n;
    auto event = [n](const std::vector<std::string>& events) {
      return n < events.size() ? events[n] : "no further event";
    };
    Values values = {event(older), event(newer)};
    std::sort(older.begin(), older.end());
    std::sort(newer.begin(), newer.end());
    add(fmt::format("event {} of rank {} in step {}{}; differ in {} of {} steps of ranks", n,
                    runs_.front().run.ranks[first.rank].rank, first.step,
                    older == newer ? ", by the order only" : "", places.size(),
                    runs_.front().run.ranks.size() * std::size_t(gate_.train.steps)),
        values);
  }

  // Runs the gate again and returns the events of a rank in a step.
  std::vector<std::string> events_at(const EventPlace& place, std::size_t i) const {
    GateFile gate = gate_;
    gate.expect.events.rank = std::int64_t(runs_[i].run.ranks[place.rank].rank);
    gate.expect.events.step = std::int64_t(place.step);
    GateRunner runner(gate, runs_[i].options);
    GateRun run =
        runner.run({.schedule = runner.schedule_at(0), .observes = true, .keeps_events = true});
    return std::move(run.ranks[place.rank].events);
  }

  // Compares all results with the record of rank 0 under the first release.
  void compare_results() {
    for (const RankFindings& found : runs_.back().run.ranks)
      if (const std::optional<Difference>& difference = found.differences.front())
        return add(
            fmt::format("first result that differs, on rank {}: {}", found.rank, difference->where),
            {difference->expected, difference->actual});
    found_.same.emplace_back("bits of all results");
  }

  const GateFile& gate_;
  std::array<ReleaseRun, releases.size()> runs_;
  ReleaseComparison found_;
};

}  // namespace

ReleaseComparison compare_releases(const GateFile& gate, const GateRunOptions& options) {
  return Comparer(gate, options).all();
}

}  // namespace simmesh
