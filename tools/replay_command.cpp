#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <memory>
#include <optional>

#include "core/check/error.h"
#include "core/check/repro.h"
#include "core/check/shell_word.h"
#include "core/engine/reports/interrupt.h"
#include "replay/chakra/graph_job.h"
#include "replay/chakra/write_chakra.h"
#include "replay/job/found_files.h"
#include "replay/report/judged_job.h"
#include "replay/report/report_html.h"
#include "replay/report/report_job.h"
#include "replay/report/report_json.h"
#include "replay/report/report_text.h"
#include "replay/timeline/read_timeline.h"
#include "replay/write/write_execution_trace.h"
#include "tools/commands.h"
#include "tools/findings_option.h"
#include "tools/lost_trace.h"
#include "tools/report_option.h"
#include "tools/run_options.h"
#include "tools/terminal.h"
#include "tools/whole_number.h"

namespace simmesh {

namespace {

constexpr std::string_view replay_place = "tools/replay";

struct ReplayArguments {
  std::vector<std::string> paths;
  std::vector<std::size_t> steps;
  std::vector<std::string> ops;
  std::vector<std::uint32_t> groups;
  std::vector<std::string> what_if;
  std::string allocation = "lazy";
  std::string payload = "small";
  std::string chakra;           // a folder, to which the traces are written
  std::string execution_trace;  // as above
  std::int64_t schedules = 1;
  std::int64_t iterations = 1;
  std::int64_t warm_up = 0;
  bool only_checks = false;
  RunOptions run;
  FindingsOption findings;
  OutputOptions output;
  ReportOption report;
};

double parse_factor(std::string_view text, const std::string& whole) {
  double factor = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() ||
      !std::isfinite(factor) || factor <= 0)
    raise(ErrorKind::value_error, replay_place,
          "--what-if: expected a factor above 0, got '{}' in '{}'", text, whole);
  return factor;
}

// Reads one change, as "bandwidth=2".
void add_change(replay::NamedWhatIf& asked, std::string_view word) {
  replay::WhatIf& change = asked.change;
  std::string_view name = word.substr(0, word.find('='));
  std::string_view value = name.size() < word.size() ? word.substr(name.size() + 1) : "";
  if (name == "perfect_arrival" && value.empty()) {
    change.perfect_arrival = true;
  } else if (name == "even_splits" && value.empty()) {
    change.choices.even_splits = true;
  } else if (name == "tree" && value.empty()) {
    change.choices.algorithm = replay::CommAlgorithm::tree;
  } else if (name == "bandwidth") {
    asked.bandwidth_factor = parse_factor(value, asked.name);
  } else if (name == "latency") {
    asked.latency_factor = parse_factor(value, asked.name);
  } else if (name == "computation") {
    change.computation_factor = parse_factor(value, asked.name);
  } else {
    raise(ErrorKind::value_error, replay_place,
          "--what-if: expected bandwidth=X, latency=X, computation=X, perfect_arrival, even_splits "
          "or tree, got '{}'",
          word);
  }
}

replay::NamedWhatIf parse_what_if(const std::string& text) {
  replay::NamedWhatIf asked{.name = text, .change = {}};
  std::string_view rest = text;
  while (true) {
    std::string_view word = rest.substr(0, rest.find(','));
    add_change(asked, word);
    if (word.size() == rest.size()) return asked;
    rest.remove_prefix(word.size() + 1);
  }
}

replay::CommKind parse_kind(const std::string& name) {
  replay::CommKind kind = replay::comm_kind(name);
  if (kind == replay::CommKind::unknown)
    raise(ErrorKind::value_error, replay_place,
          "--ops: expected names such as all_reduce or all_to_allv, got '{}'", name);
  return kind;
}

replay::Allocation parse_allocation(const std::string& name) {
  if (name == "pre") return replay::Allocation::pre;
  if (name == "lazy") return replay::Allocation::lazy;
  raise(ErrorKind::value_error, replay_place, "--allocation: expected pre or lazy, got '{}'", name);
}

Rule parse_payload(const std::string& name) {
  if (name == "small") return Rule::small;
  if (name == "wide") return Rule::wide;
  raise(ErrorKind::value_error, replay_place, "--payload: expected small or wide, got '{}'", name);
}

replay::JobReportOptions options_of(const ReplayArguments& arguments, const RunWords& words) {
  replay::JobReportOptions options{.replays = !arguments.only_checks,
                                   .schedules = arguments.schedules,
                                   .jobs = arguments.run.jobs};
  options.program.steps = arguments.steps;
  options.program.groups = arguments.groups;
  for (const std::string& name : arguments.ops) options.program.kinds.push_back(parse_kind(name));
  options.run.run = {.warm_up = arguments.warm_up,
                     .iterations = arguments.iterations,
                     .allocation = parse_allocation(arguments.allocation),
                     .payload = {.rule = parse_payload(arguments.payload), .seed = words.seed}};
  WorldOptions& world = options.run.world;
  world.seed = words.seed;
  world.schedule = Schedule::parse(words.schedule);
  world.threads = std::size_t(words.threads);
  // Sums of `wide` elements equal those of one rank under any order only if they are exact.
  if (words.arithmetic)
    world.arithmetic = Arithmetic::parse(*words.arithmetic);
  else if (options.run.run.payload.rule == Rule::wide)
    world.arithmetic = Arithmetic::exact();
  if (words.release) world.release = *words.release;
  world.timeout_seconds = words.timeout_seconds;
  world.trace_file = words.trace_file;
  return options;
}

std::string reproduce_line(const ReplayArguments& arguments) {
  std::string line = "simmesh replay";
  for (const std::string& path : arguments.paths) line += " " + shell_word(path);
  for (std::size_t step : arguments.steps) line += fmt::format(" --steps {}", step);
  for (const std::string& op : arguments.ops) line += " --ops " + shell_word(op);
  for (std::uint32_t group : arguments.groups) line += fmt::format(" --groups {}", group);
  if (arguments.allocation != "lazy") line += " --allocation " + arguments.allocation;
  if (arguments.payload != "small") line += " --payload " + arguments.payload;
  if (arguments.schedules != 1) line += fmt::format(" --schedules {}", arguments.schedules);
  if (arguments.iterations != 1) line += fmt::format(" --iterations {}", arguments.iterations);
  if (arguments.warm_up != 0) line += fmt::format(" --warm-up {}", arguments.warm_up);
  if (arguments.only_checks) line += " --only-checks";
  return line + flags(arguments.run.words());
}

// The schema that is written has strides; what traces of older schemas lack is left empty.
void write_traces(const replay::TraceJob& job, const std::string& folder) {
  replay::TraceJob written = job;
  for (replay::RankTrace& rank : written.ranks) rank.trace.has_strides = true;
  replay::write_job(written, folder);
}

int run_replay(const ReplayArguments& arguments) {
  arguments.findings.begin();
  arguments.report.expect_writable();
  RunWords words = arguments.run.words();
  replay::JobReportOptions options = options_of(arguments, words);
  for (const std::string& text : arguments.what_if) options.what_if.push_back(parse_what_if(text));
  Interrupt::on_sigint();
  replay::FoundFiles found = replay::find_files(arguments.paths);
  replay::TraceJob job;
  std::optional<replay::JobTimeline> timeline;
  if (found.has_traces) job = replay::read_job(arguments.paths);
  if (found.has_chakra) replay::add_graphs(arguments.paths, job);
  LostTrace lost;
  if (!arguments.chakra.empty())
    lost.write([&] { replay::write_chakra_job(job, arguments.chakra); });
  if (!arguments.execution_trace.empty())
    lost.write([&] { write_traces(job, arguments.execution_trace); });
  if (found.has_timelines) timeline = replay::read_timelines(arguments.paths);
  if (job.ranks.empty() && job.findings.empty() && !timeline)
    raise(ErrorKind::value_error, replay_place, "expected traces, got none in {}{}",
          arguments.paths.front(),
          found.left_out.empty() ? "" : "; " + replay::left_out_words(found.left_out));
  replay::JobReport report = lost.run(words, [&](const RunWords& traced, bool) {
    options.run.world.trace_file = traced.trace_file;
    if (traced.trace_file.empty()) return report_job(std::move(job), std::move(timeline), options);
    return report_job(job, timeline, options);
  });
  report.left_out = std::move(found.left_out);
  if (report.failed() > 0) report.reproduce = reproduce_line(arguments);
  if (arguments.report.is_given())
    lost.write(
        [&] { arguments.report.write(replay::job_page(report, arguments.report.command())); });
  if (arguments.output.json)
    print_report(replay::to_json(report));
  else if (arguments.output.quiet)
    print_report(replay::last_line(report) + "\n");
  else
    print_report(replay::to_text(report));
  arguments.findings.write([&] { return replay::judged_checks(report); });
  lost.raise_again();
  if (Interrupt::requested()) {
    std::fputs("simmesh: interrupted\n", stderr);
    return Interrupt::exit_status;
  }
  return report.failed() == 0 ? 0 : 1;
}

}  // namespace

void add_replay_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* app = program.add_subcommand(
      "replay",
      "validates, replays and analyses execution traces and timelines of one job; last line: N "
      "passed, N failed");
  app->add_option("TRACE", arguments->paths,
                  "execution traces and timelines of all ranks: files, folders, archives")
      ->required();
  app->add_option("--steps", arguments->steps, "only these training steps, which count from 0")
      ->delimiter(',');
  app->add_option("--ops", arguments->ops, "only these communications, for instance all_reduce")
      ->delimiter(',');
  app->add_option("--groups", arguments->groups,
                  "only these process groups, which count from 0 in the order of their members")
      ->delimiter(',');
  app->add_option("--schedules", arguments->schedules,
                  "schedules under which the job is replayed, which must give one data hash")
      ->capture_default_str()
      ->check(whole_number(1, std::uint64_t(1) << 40));
  app->add_option("--iterations", arguments->iterations, "how often a replay repeats the traces")
      ->capture_default_str()
      ->check(whole_number(1, 1 << 20));
  app->add_option("--warm-up", arguments->warm_up, "iterations before those that count")
      ->capture_default_str()
      ->check(whole_number(0, 1 << 20));
  app->add_option("--allocation", arguments->allocation,
                  "when tensors are made: pre (before the first iteration) or lazy")
      ->capture_default_str();
  app->add_option("--payload", arguments->payload,
                  "what tensors hold: small (integers) or wide (24 bits, added exactly)")
      ->capture_default_str();
  app->add_option("--what-if", arguments->what_if,
                  "a change whose times are simulated, for instance bandwidth=2,perfect_arrival; "
                  "also latency=X, computation=X, even_splits, tree; may be given several times");
  app->add_flag("--only-checks", arguments->only_checks, "validate and analyse, but don't replay");
  arguments->report.add_to(*app, "--html");
  app->add_option("--execution-trace", arguments->execution_trace,
                  "write the traces as execution traces, also those of Chakra: a folder for "
                  "rank-N.json.gz")
      ->type_name("DIR");
  app->add_option("--chakra", arguments->chakra,
                  "write the traces as Chakra's graphs: a folder for rank-N.et")
      ->type_name("DIR");
  arguments->run.add_to(*app, RunOptions::Runs::traces, "schedules");
  arguments->findings.add_to(*app);
  arguments->output.add_to(*app);
  app->callback([arguments, &status] { status = run_replay(*arguments); });
}

}  // namespace simmesh
