#include "gate/run_gate.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/check/shell_word.h"
#include "core/engine/spread/spread_work.h"
#include "core/engine/spread/world_spread.h"
#include "gate/check_kind.h"
#include "gate/checked_run.h"

namespace simmesh {

namespace {

std::string reproduce_line(const GateFile& gate, const GateRunOptions& options) {
  return "simmesh run " + shell_word(gate.file) + flags(options);
}

// Raises a BadGate if the nodes of a model don't run on one device.
void expect_nodes(const GateFile& gate, const GateRunner& runner) {
  if (!gate.model.is_given_by_nodes()) return;
  GateRun single = runner.run_as({.layout = {}, .parallel = {}, .word = "single_device"});
  if (single.outcome.ok()) return;
  throw BadGate(
      gate.file + ":1:1",
      "key 'model.nodes': expected nodes that run on one device, got " + ending_of(single.outcome));
}

// Runs the gate, after the other runs with which it is compared.
void make_runs(CheckedRun& checked) {
  GateRunner::Request request{
      .schedule = checked.runner.schedule_at(0), .observes = true, .is_traced = true};
  for (const GateSameAs& other : checked.gate.expect.same_as) {
    checked.others.push_back({other, checked.runner.run_as(other), request.expected.size()});
    // The record stays at its place on the heap while the list grows.
    if (const GateRun& run = checked.others.back().run; run.outcome.ok())
      request.expected.push_back(&*run.ranks[0].record);
  }
  request.keep_record = checked.gate.checkpoint.has_value();
  if (!checked.records) {
    checked.base = checked.runner.run(request);
    return;
  }
  RunRecorder recorder(checked.recorded_ranks(), checked.records->limits);
  request.recorder = &recorder;
  request.record_choices = true;
  checked.base = checked.runner.run(request);
  checked.records->sections = recorder.sections();
}

// Keeps what the ranks called, for a report.
void keep_calls(const GateRun& run, GateRecords& records) {
  for (std::size_t op = 0; op < collective_op_count; ++op) {
    GateRecords::Calls calls{.name = name_of(CollectiveOp(op)),
                             .least_calls = run.ranks[0].calls[op],
                             .least_bytes = run.ranks[0].bytes[op]};
    for (const RankFindings& found : run.ranks) {
      calls.least_calls = std::min<std::uint64_t>(calls.least_calls, found.calls[op]);
      calls.most_calls = std::max<std::uint64_t>(calls.most_calls, found.calls[op]);
      calls.least_bytes = std::min(calls.least_bytes, found.bytes[op]);
      calls.most_bytes = std::max(calls.most_bytes, found.bytes[op]);
    }
    if (calls.most_calls > 0) records.collectives.push_back(std::move(calls));
  }
}

void take_figures(const CheckedRun& checked, const GateRunOptions& options) {
  const GateFile& gate = checked.gate;
  const GateRun& base = checked.base;
  GateResult& result = checked.result;
  result.data_hash = base.outcome.data_hash;
  result.schedule_hash = base.outcome.schedule_hash;
  result.peak_bytes = base.outcome.peak_bytes;
  if (gate.world.shapes_only)
    result.shapes_of_ranks = std::int64_t(base.ranks.size());
  else if (options.threads == 1 && !WorldSpread::active())
    result.physical_peak_bytes = base.outcome.physical_peak_bytes;
  result.losses = base.ranks[0].losses;
  for (std::size_t op = 0; op < collective_op_count; ++op)
    if (base.ranks[0].calls[op] > 0)
      result.collectives[name_of(CollectiveOp(op))] = base.ranks[0].calls[op];
  result.collectives_of_first = gate.parallel.pipeline.has_value();
  result.zero_memory = base.ranks[0].memory;
  if (const auto& schedule = base.ranks[0].schedule; schedule && !schedule->is_empty())
    result.zero_schedule = schedule->svg();
  if (gate.parallel.fsdp)
    result.gathers = std::max_element(base.ranks.begin(), base.ranks.end(),
                                      [](const RankFindings& a, const RankFindings& b) {
                                        return a.gathers.unused() < b.gathers.unused();
                                      })
                         ->gathers;
}

// Checks that every rank returns.
void check_ending(CheckedRun& checked) {
  const GateFile& gate = checked.gate;
  const Outcome& outcome = checked.base.outcome;
  std::string ranks =
      fmt::format("{} {} to return", gate.ranks(), gate.ranks() == 1 ? "rank" : "ranks");
  std::string returned = std::to_string(gate.ranks());
  if (gate.world.fold) returned = fmt::format("{} that stand for all", checked.base.ranks.size());
  checked.add("run", outcome.ok(), ranks, outcome.ok() ? returned : ending_of(outcome));
  checked.keep_failure(outcome);
}

void check_fold(CheckedRun& checked) {
  const std::string& difference = checked.base.outcome.fold_difference;
  std::string where = checked.gate.parallel.pipeline ? " of each stage" : "";
  checked.add("fold", difference.empty(),
              fmt::format("the same figures of the first and the last rank{}", where),
              difference.empty() ? "the same" : difference);
}

void check_leak(CheckedRun& checked) {
  std::int64_t live = checked.base.outcome.live_storages;
  checked.add("leak", live == 0, "0 live tensors at the end", std::to_string(live));
}

GateResult run_on_seats(const GateFile& gate, const GateRunOptions& options,
                        const TraceFolders& folders, GateRecords* records) {
  GateResult result;
  result.file = gate.file;
  result.title = gate.title;
  GateRunner runner(gate, options, folders);
  expect_nodes(gate, runner);
  CheckedRun checked{.gate = gate, .runner = runner, .result = result, .records = records};
  make_runs(checked);
  take_figures(checked, options);
  if (records) keep_calls(checked.base, *records);
  check_ending(checked);
  if (checked.base.outcome.ok()) {
    if (gate.world.fold) check_fold(checked);
    for (const CheckKind* kind : CheckKind::all())
      if (kind->is_asked(gate)) kind->run(checked);
    check_leak(checked);
  }
  if (result.failed() > 0) result.reproduce = reproduce_line(gate, options);
  return result;
}

}  // namespace

void run_on_process_seats(const GateFile& gate, const std::function<void()>& work) {
  if (!gate.world.seats_are_processes || WorldSpread::active() || gate.ranks() == 1) return work();
  run_in_processes(gate.ranks(), [&] {
    work();
    return 0;
  });
}

void expect_process_seats(const GateFile& gate, const RunWords& words, std::int64_t jobs) {
  if (!gate.world.seats_are_processes || (words.threads == 1 && jobs == 1)) return;
  raise(ErrorKind::value_error, "gate/seats",
        "expected no {} with world.seats = \"processes\" of {}: each of its ranks is a process",
        words.threads > 1 ? "--threads" : "--jobs", gate.file);
}

GateResult run_gate(const GateFile& gate, const GateRunOptions& options,
                    const TraceFolders& folders, GateRecords* records) {
  GateResult result;
  run_on_process_seats(gate, [&] { result = run_on_seats(gate, options, folders, records); });
  return result;
}

void expect_checks(const GateFile& gate) {
  std::vector<std::string> tables;
  for (const CheckKind* kind : CheckKind::all()) {
    if (kind->is_asked(gate)) return;
    if (kind->is_of_table()) tables.push_back(fmt::format("[{}]", kind->name()));
  }
  throw BadGate(gate.file + ":1:1",
                fmt::format("expected a gate that checks something: a key of [expect], or a table "
                            "{}, got none of them",
                            join_text(tables, " or ")));
}

}  // namespace simmesh
