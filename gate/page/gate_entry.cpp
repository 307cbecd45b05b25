#include "gate/page/gate_entry.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/hash_text.h"
#include "core/check/join_text.h"
#include "core/page/sections.h"
#include "gate/checked_run.h"
#include "gate/explain.h"

namespace simmesh {

namespace {

// Returns the uses of one mesh dim: "rows of fsdp, tensor".
std::string uses_of(const GateFile& gate, const std::string& dim) {
  const GateParallel& parallel = gate.parallel;
  std::vector<std::string> uses;
  std::vector<std::string> rows = parallel.row_dims();
  if (std::find(rows.begin(), rows.end(), dim) != rows.end())
    uses.emplace_back(parallel.fsdp        ? "fsdp"
                      : parallel.zero      ? fmt::format("zero, stage {}", parallel.zero->stage())
                      : parallel.replicate ? "replicate"
                                           : "rows of the batch");
  if (parallel.context && parallel.context->mesh == dim) uses.emplace_back("context");
  if (parallel.tensor && parallel.tensor->mesh == dim) uses.emplace_back("tensor");
  if (parallel.expert && parallel.expert->mesh == dim) uses.emplace_back("expert");
  if (parallel.pipeline && parallel.pipeline->mesh == dim) uses.emplace_back("pipeline");
  return join_text(uses, ", ");
}

void add_figures(const GateResult& result, ReportEntry& entry) {
  if (result.shapes_of_ranks)
    entry.add_figure("shapes only, ranks run", *result.shapes_of_ranks);
  else
    entry.add_figure("data hash", hash_text(result.data_hash));
  entry.add_figure("schedule hash", hash_text(result.schedule_hash));
  if (!result.losses.empty()) entry.add_figure("losses", join_text(result.losses, ", "));
  entry.add_figure("peak bytes per rank", result.peak_bytes);
  if (result.gathers) {
    entry.add_figure("all-gathers of parameters on each rank", result.gathers->started());
    entry.add_figure("of them unused", result.gathers->unused());
  }
  if (!result.device) return;
  entry.add_figure("device time", fmt::format("{:.1f} us", result.device->makespan_us));
  entry.add_figure("exposed communication",
                   fmt::format("{:.1f} us", result.device->exposed_communication_us));
  entry.add_figure("reserved bytes", result.device->reserved_bytes);
}

JsonValue collectives_section(const GateRecords& records) {
  JsonValue::List rows;
  for (const GateRecords::Calls& calls : records.collectives)
    rows.emplace_back(JsonValue::List{calls.name, calls.least_calls, calls.most_calls,
                                      calls.least_bytes, calls.most_bytes});
  return table_section(
      "Collectives",
      {"collective", "least calls of a rank", "most calls", "least bytes of a rank", "most bytes"},
      std::move(rows), "Bytes are those of a rank's operands in all calls.");
}

JsonValue zero_memory_section(const GateResult& result) {
  JsonValue::List rows;
  for (const auto& [when, memory] : result.zero_memory)
    rows.emplace_back(JsonValue::List{when, memory.shards, memory.master, memory.moments,
                                      memory.gradients, memory.buckets, memory.persistent,
                                      memory.live});
  return table_section(
      "Bytes of rank 0 with ZeRO",
      {"when", "shards", "master", "moments", "gradients", "buckets", "persistent", "live"},
      std::move(rows));
}

}  // namespace

JsonValue schedules_section(const GateRecords& records) {
  JsonValue::List rows;
  for (const GateRecords::TriedSchedule& tried : records.schedules) {
    JsonValue::List row = {tried.name, tried.steps, hash_text(tried.schedule_hash), tried.ending};
    if (tried.differs_at < 0)
      row.insert(row.end(), {JsonValue(), "the same choices"});
    else
      row.insert(row.end(), {tried.differs_at, fmt::format("rank {} instead of rank {}",
                                                           tried.chosen, tried.chosen_first)});
    rows.emplace_back(std::move(row));
  }
  std::string about = "Each schedule is compared with that of the first run, step by step.";
  if (records.schedules.size() < records.schedules_in_all)
    about += fmt::format(" The page has {} of {} schedules.", records.schedules.size(),
                         records.schedules_in_all);
  return table_section(
      "Schedules tried",
      {"schedule", "steps", "schedule hash", "ends with", "first step that differs", "takes"},
      std::move(rows), about);
}

JsonValue gate_mesh_section(const GateFile& gate) {
  std::vector<std::string> uses;
  for (const std::string& dim : gate.mesh.names) uses.push_back(uses_of(gate, dim));
  return mesh_section({gate.mesh.shape.begin(), gate.mesh.shape.end()}, gate.mesh.names, uses);
}

ReportEntry gate_entry(const GateFile& gate, const GateResult& result, const GateRecords& records) {
  ReportEntry entry{.name = result.file, .title = result.title, .passed = result.failed() == 0};
  add_figures(result, entry);
  std::vector<PageCheck> checks;
  for (const GateCheck& check : result.checks)
    checks.push_back({check.name, check.passed, check.expected, check.actual});
  entry.sections.push_back(checks_section(checks, result.reproduce));
  if (!result.failure.empty())
    entry.sections.push_back(failure_section("The run that failed", result.failure));
  entry.sections.push_back(gate_mesh_section(gate));
  entry.sections.insert(entry.sections.end(), records.sections.begin(), records.sections.end());
  if (!records.collectives.empty()) entry.sections.push_back(collectives_section(records));
  if (!records.schedules.empty()) entry.sections.push_back(schedules_section(records));
  if (!result.zero_memory.empty()) entry.sections.push_back(zero_memory_section(result));
  entry.sections.push_back(text_section("The gate, with all defaults", explain(gate)));
  return entry;
}

PageReport gates_report(gsl::span<const ReportedGate> gates, const std::string& command) {
  std::int64_t passed = 0, failed = 0;
  PageReport report{.title = "simmesh run", .command = command};
  for (const ReportedGate& each : gates) {
    passed += each.result.passed();
    failed += each.result.failed();
    report.add(gate_entry(each.gate, each.result, each.records));
  }
  if (gates.size() == 1) report.title += " " + gates[0].gate.file;
  report.summary = fmt::format("{} passed, {} failed", passed, failed);
  report.passed = failed == 0;
  return report;
}

}  // namespace simmesh
