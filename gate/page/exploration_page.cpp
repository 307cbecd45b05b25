#include "gate/page/exploration_page.h"

#include <fmt/format.h>

#include "core/check/counted.h"
#include "core/check/hash_text.h"
#include "core/page/sections.h"
#include "gate/checked_run.h"
#include "gate/page/gate_entry.h"

namespace simmesh {

namespace {

PageCheck check_of_schedules(const std::string& failure, std::uint64_t data_hash) {
  return {.name = "schedules",
          .passed = failure.empty(),
          .expected = fmt::format("data hash {} under every schedule", hash_text(data_hash)),
          .actual = failure.empty() ? "the same" : failure};
}

// Runs a schedule again and keeps what the page shows of it.
Outcome run_again(const GateFile& gate, const GateRunOptions& options, const Schedule& schedule,
                  RunRecorder& recorder) {
  GateRunOptions words = options;
  words.trace_file.clear();
  return GateRunner(gate, words)
      .run({.schedule = schedule, .record_choices = true, .recorder = &recorder})
      .outcome;
}

void add_failure(const std::string& report, ReportEntry& entry) {
  if (!report.empty()) entry.sections.push_back(failure_section("The run that failed", report));
}

}  // namespace

PageReport exploration_page(const GateFile& gate, const GateRunOptions& options,
                            const GateExploration& found, const ExplorationCommands& commands) {
  ReportEntry entry{.name = found.file, .title = found.title, .passed = found.ok()};
  entry.add_figure("schedules", found.schedules);
  entry.add_figure("distinct", found.distinct);
  entry.add_figure("data hash", hash_text(found.data_hash));
  if (!found.certificate.empty()) entry.add_figure("certificate", found.certificate);
  if (!found.escape.empty()) entry.add_figure("chance that a bug escaped", found.escape);
  entry.sections.push_back(
      checks_section({check_of_schedules(found.failure, found.data_hash)}, commands.reproduce));
  add_failure(found.report, entry);
  GateRecords records;
  std::size_t ranks = gate.world.fold ? 2 : std::size_t(gate.ranks());
  RunRecorder first_recorder(ranks, records.limits), failing_recorder(ranks, records.limits);
  Outcome first =
      run_again(gate, options, GateRunner(gate, options).schedule_at(0), first_recorder);
  records.sections = first_recorder.sections();
  if (!found.choices.empty()) {
    Schedule schedule = Schedule::replay(found.schedule());
    Outcome failing = run_again(gate, options, schedule, failing_recorder);
    records.try_schedule("the shortest failing schedule", first, failing, ending_of(failing));
    records.sections = failing_recorder.sections();
  }
  entry.sections.push_back(gate_mesh_section(gate));
  entry.sections.insert(entry.sections.end(), records.sections.begin(), records.sections.end());
  if (!records.schedules.empty()) {
    entry.sections.push_back(schedules_section(records));
    entry.sections.push_back(text_section("The choices of the failing schedule", found.schedule()));
  }
  PageReport report{.title = "simmesh explore " + found.file,
                    .summary = fmt::format("{}, {} distinct, data hash {}",
                                           counted(std::int64_t(found.schedules), "schedule"),
                                           found.distinct, hash_text(found.data_hash)),
                    .passed = found.ok(),
                    .command = commands.report};
  report.add(std::move(entry));
  return report;
}

PageReport exploration_page(const GatesExploration& found, const std::string& command) {
  PageReport report{
      .title = "simmesh explore",
      .summary = fmt::format("{} gates, {} failed", found.gates.size(), found.failed()),
      .passed = found.failed() == 0,
      .command = command};
  for (const GatesExploration::Gate& gate : found.gates) {
    ReportEntry entry{.name = gate.file, .passed = gate.failure.empty()};
    entry.add_figure(found.has_faults ? "runs with faults" : "schedules", gate.runs);
    entry.add_figure("data hash", hash_text(gate.data_hash));
    if (gate.is_certain)
      entry.add_figure("certificate", std::string("1 run stands for all schedules"));
    if (found.has_faults) {
      entry.add_figure("faults reported", gate.reported);
      entry.add_figure("faults without effect", gate.without_effect);
    }
    entry.sections.push_back(
        checks_section({check_of_schedules(gate.failure, gate.data_hash)}, gate.reproduce));
    add_failure(gate.report, entry);
    report.add(std::move(entry));
  }
  return report;
}

PageReport exploration_page(const FaultSwarm& found, const std::string& command) {
  ReportEntry entry{.name = found.file, .title = found.title, .passed = found.ok()};
  entry.add_figure("runs with faults", found.runs);
  entry.add_figure("data hash of a run without", hash_text(found.data_hash));
  JsonValue::List rows;
  for (const FaultSwarm::Count& count : found.counts)
    rows.emplace_back(JsonValue::List{count.kind, count.reported, count.without_effect});
  entry.sections = {
      checks_section({{.name = "faults",
                       .passed = found.ok(),
                       .expected = "every fault reported, or without effect",
                       .actual = found.ok() ? "so it was" : found.failure}}),
      table_section("Faults", {"kind", "reported", "without effect"}, std::move(rows))};
  add_failure(found.report, entry);
  PageReport report{.title = "simmesh explore " + found.file,
                    .summary = counted(std::int64_t(found.runs), "run") + " with faults",
                    .passed = found.ok(),
                    .command = command};
  report.add(std::move(entry));
  return report;
}

}  // namespace simmesh
