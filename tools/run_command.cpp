#include <algorithm>
#include <fmt/core.h>
#include <memory>

#include "core/check/error.h"
#include "core/engine/ordered_jobs.h"
#include "core/engine/reports/interrupt.h"
#include "core/engine/spread/world_spread.h"
#include "gate/explain.h"
#include "gate/judged_gates.h"
#include "gate/page/gate_entry.h"
#include "gate/report.h"
#include "gate/run_gate.h"
#include "replay/write/make_folder.h"
#include "tools/commands.h"
#include "tools/crew/crew.h"
#include "tools/findings_option.h"
#include "tools/gate_memory_check.h"
#include "tools/lost_trace.h"
#include "tools/report_option.h"
#include "tools/run_options.h"
#include "tools/shard_options.h"
#include "tools/spread_options.h"
#include "tools/terminal.h"
#include "tools/united_reports.h"

namespace simmesh {

namespace {

struct RunArguments {
  std::vector<std::string> paths;
  bool explain = false;
  std::string picture;
  TraceFolders folders;
  RunOptions run;
  SpreadOptions spread;
  ShardOptions shard;
  FindingsOption findings;
  OutputOptions output;
  ReportOption report;
};

// Refuses a picture that can't be drawn before anything runs.
void expect_picture(const std::string& path, const std::vector<GateFile>& gates) {
  if (path.empty()) return;
  if (!path.ends_with(".svg"))
    raise(ErrorKind::value_error, "tools/run",
          "--picture: expected a file that ends in .svg, got '{}'", path);
  if (gates.size() != 1)
    raise(ErrorKind::value_error, "tools/run", "--picture: expected one gate, got {}",
          gates.size());
  if (!gates[0].parallel.has_schedule())
    raise(ErrorKind::value_error, "tools/run",
          "--picture: expected a gate with parallel.zero of stage 3, got {}", gates[0].file);
  expect_writable(path, "the picture");
}

// The traces of several gates would overwrite each other.
void expect_recordable(const TraceFolders& folders, const std::vector<GateFile>& gates) {
  if (!folders.are_given()) return;
  if (gates.size() != 1)
    raise(ErrorKind::value_error, "tools/run", "expected one gate to record, got {}", gates.size());
  if (gates[0].world.fold)
    raise(ErrorKind::value_error, "tools/run",
          "expected a gate in which every rank runs, got {} with world.fold", gates[0].file);
  for (const std::string& folder : {folders.execution_traces, folders.chakra})
    if (!folder.empty()) replay::make_folder(folder, "the execution traces");
}

// Leaves the gates of a shard.
void take_shard(std::vector<GateFile>& gates, const std::optional<ShardResults>& keeps) {
  if (!keeps) return;
  std::vector<GateFile> own;
  for (std::uint64_t i = 0; i < keeps->shard.jobs_of(gates.size()); ++i)
    own.push_back(std::move(gates[keeps->shard.job(i)]));
  gates = std::move(own);
}

void keep(ShardResults keeps, const RunArguments& arguments,
          const std::vector<ReportBlock>& gates) {
  keeps.jobs = arguments.paths.size();
  keeps.inputs = input_hash(arguments.paths);
  for (std::size_t i = 0; i < gates.size(); ++i)
    keeps.results.emplace(keeps.shard.job(i), to_json(gates[i]));
  arguments.shard.write(keeps);
}

int print_gates(gsl::span<const ReportBlock> gates, const UnitedOutput& options) {
  const OutputOptions& output = options.output;
  print_report(output.json ? json_of_gates(gates) : text_of_gates(gates, {.quiet = output.quiet}));
  options.findings.write([&] {
    return checks_of_each(gates, [](const ReportBlock& gate) { return judged_checks(gate); });
  });
  return count_over(gates, "failed") == 0 ? 0 : 1;
}

std::vector<GateFile> read_gates(const RunArguments& arguments) {
  std::vector<GateFile> gates;
  for (const std::string& path : arguments.paths) gates.push_back(read_gate(path));
  return gates;
}

// Raises for gates that can't be run, several `worlds` at a time.
void expect_runnable(const std::vector<GateFile>& gates, const RunWords& options,
                     std::int64_t worlds) {
  // A user who replays a schedule wants to know how that run ends.
  bool replays = options.schedule.starts_with("replay:");
  for (const GateFile& gate : gates)
    if (!replays) expect_checks(gate);
  for (const GateFile& gate : gates) expect_memory_of(gate, worlds);
}

// Processes that MPI has started may not fork.
void expect_no_process_seats(const std::vector<GateFile>& gates) {
  for (const GateFile& gate : gates)
    if (gate.world.seats_are_processes)
      raise(ErrorKind::value_error, "tools/run",
            "expected --spread under mpirun for world.seats = \"processes\" of {}, got it without",
            gate.file);
}

// Each process runs one gate at a time. What one process would write of all gates is refused.
ShardResults run_in_crew(Crew& crew, const RunArguments& arguments, const RunWords& options) {
  ShardResults keeps = arguments.shard.begin_in_crew();
  bool writes_more = !options.trace_file.empty() || arguments.folders.are_given() ||
                     !arguments.picture.empty() || arguments.report.is_given();
  if (writes_more)
    raise(ErrorKind::value_error, "tools/run",
          "expected no traces, no picture and no page in processes of MPI, got one");
  if (crew.rank() == 0) arguments.findings.begin();
  std::vector<GateFile> gates = read_gates(arguments);
  expect_runnable(gates, options, crew.size());
  expect_no_process_seats(gates);
  keeps.jobs = gates.size();
  keeps.inputs = input_hash(arguments.paths);
  for (std::uint64_t i; (i = crew.next(gates.size())) < gates.size();)
    keeps.results.emplace(i, to_json(gate_block(run_gate(gates[i], options, TraceFolders()))));
  return keeps;
}

void write_report(const RunArguments& arguments, const std::vector<GateFile>& gates,
                  const std::vector<GateResult>& results, const std::vector<GateRecords>& records) {
  std::vector<ReportedGate> reported;
  for (std::size_t i = 0; i < results.size(); ++i)
    reported.push_back({gates[i], results[i], records[i]});
  arguments.report.write(gates_report(reported, arguments.report.command()));
}

// Runs gates and writes what is asked for; of processes that worlds are spread over, one writes.
int run_gates(const std::vector<GateFile>& gates, const RunArguments& arguments,
              const RunWords& options, const std::optional<ShardResults>& keeps) {
  std::vector<GateResult> results;
  std::vector<GateRecords> records(arguments.report.is_given() ? gates.size() : 0,
                                   {.limits = RecordLimits::each(gates.size())});
  LostTrace lost;  // of one gate: several aren't traced
  Interrupt::on_sigint();
  run_ordered<GateResult>(
      {.count = gates.size(), .threads = std::size_t(arguments.run.jobs)},
      [&] {
        return [&](std::uint64_t i) {
          // Processes that worlds are spread over run each gate equally often.
          if (WorldSpread::active())
            return run_gate(gates[i], options, arguments.folders,
                            records.empty() ? nullptr : &records[i]);
          return lost.run(options, [&](const RunWords& words, bool is_recorded) {
            if (!records.empty()) records[i] = {.limits = records[i].limits};
            return run_gate(gates[i], words, is_recorded ? arguments.folders : TraceFolders(),
                            records.empty() ? nullptr : &records[i]);
          });
        };
      },
      [&](std::uint64_t, GateResult result) {
        results.push_back(std::move(result));
        return true;
      });
  if (!WorldSpread::writes_files()) return 0;
  if (!arguments.picture.empty() && !results.empty() && !results[0].zero_schedule.empty())
    lost.write([&] { write_file(arguments.picture, results[0].zero_schedule, "the picture"); });
  if (arguments.report.is_given())
    lost.write([&] { write_report(arguments, gates, results, records); });
  std::vector<ReportBlock> blocks;
  for (const GateResult& result : results) blocks.push_back(gate_block(result));
  int status = print_gates(blocks, {arguments.output, arguments.findings});
  lost.raise_again();
  if (Interrupt::requested()) {
    std::fputs("simmesh: interrupted\n", stderr);
    return Interrupt::exit_status;
  }
  if (keeps) keep(*keeps, arguments, blocks);
  return status;
}

// All files are read before the first gate runs, and nothing is printed before the last has run.
int run(const RunArguments& arguments, const RunWords& options) {
  std::vector<GateFile> gates = read_gates(arguments);
  std::optional<ShardResults> keeps = arguments.shard.begin();
  take_shard(gates, keeps);
  if (arguments.explain) {
    for (const GateFile& gate : gates) fmt::print("{}", explain(gate));
    return 0;
  }
  arguments.spread.expect_possible(options, arguments.run.jobs);
  for (const GateFile& gate : gates) expect_process_seats(gate, options, arguments.run.jobs);
  if (!options.trace_file.empty() && gates.size() != 1)
    raise(ErrorKind::value_error, "tools/run", "expected one gate to trace, got {}", gates.size());
  expect_recordable(arguments.folders, gates);
  expect_picture(arguments.picture, gates);
  arguments.findings.begin();
  arguments.report.expect_writable();
  expect_runnable(gates, options,
                  std::min<std::int64_t>(arguments.run.jobs, std::int64_t(gates.size())));
  return arguments.spread.run([&] { return run_gates(gates, arguments, options, keeps); });
}

}  // namespace

int print_united_run(const ShardResults& all, const UnitedOutput& options) {
  return print_gates(report_blocks(all), options);
}

void add_run_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* app = program.add_subcommand(
      "run", "runs gate files and checks what must hold; last line: N passed, N failed");
  app->add_option("GATE", arguments->paths, "gate files")->required();
  app->add_flag("--explain", arguments->explain,
                "print the gate with all defaults as TOML, without running it");
  app->add_option("--picture", arguments->picture,
                  "draw what stage 3 of ZeRO fetches and releases in the last iteration (.svg)")
      ->type_name("OUT.svg");
  app->add_option("--execution-trace", arguments->folders.execution_traces,
                  "record the run as PyTorch does: a folder for rank-N.json.gz")
      ->type_name("DIR");
  app->add_option("--chakra", arguments->folders.chakra,
                  "record the run as a graph for simulators: a folder for rank-N.et")
      ->type_name("DIR");
  arguments->run.add_to(*app, RunOptions::Runs::gates, "gates");
  arguments->spread.add_to(*app, "gates");
  arguments->shard.add_to(*app, "gates");
  arguments->findings.add_to(*app);
  arguments->report.add_to(*app);
  arguments->output.add_to(*app);
  app->callback([arguments, &status] {
    bool is_apart = arguments->explain || arguments->spread.is_given();
    Crew* crew = is_apart ? nullptr : Crew::present();
    RunWords words = arguments->run.words();
    if (crew == nullptr) {
      status = run(*arguments, words);
      return;
    }
    status = work_in_crew(*crew,
                          {[&] { return run_in_crew(*crew, *arguments, words); },
                           [&](const ShardResults& all) {
                             return print_united_run(all, {arguments->output, arguments->findings});
                           }});
  });
}

}  // namespace simmesh
