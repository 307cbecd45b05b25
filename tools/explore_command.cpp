#include <filesystem>
#include <fmt/core.h>
#include <memory>

#include "core/check/error.h"
#include "core/check/fold_hash.h"
#include "core/check/read_file.h"
#include "core/check/shell_word.h"
#include "core/check/write_file.h"
#include "core/shards/job_result.h"
#include "core/shards/job_shard.h"
#include "gate/explore/exploration_shards.h"
#include "gate/explore/explore_gate.h"
#include "gate/explore/explore_gates.h"
#include "gate/explore/judged_explorations.h"
#include "gate/page/exploration_page.h"
#include "tools/commands.h"
#include "tools/crew/crew.h"
#include "tools/findings_option.h"
#include "tools/gate_memory_check.h"
#include "tools/report_option.h"
#include "tools/run_options.h"
#include "tools/shard_options.h"
#include "tools/united_reports.h"
#include "tools/watched_run.h"
#include "tools/whole_number.h"

namespace simmesh {

namespace {

struct ExploreArguments {
  std::vector<std::string> paths;
  std::string output_file;
  ExploreRequest request;
  std::string faults;
  RunOptions run;
  ShardOptions shard;
  FindingsOption findings;
  OutputOptions output;
  ReportOption report;
};

std::string schedule_file(const ExploreArguments& arguments) {
  if (!arguments.output_file.empty()) return arguments.output_file;
  return std::filesystem::path(arguments.paths.front()).stem().string() + ".schedule";
}

// The line replays the file of the shortest failing schedule.
std::string reproduce_line(const std::string& gate, RunWords words, const std::string& file) {
  words.schedule = "replay:" + file;
  return "simmesh run " + shell_word(gate) + flags(words);
}

// Names gates by the bytes of their files.
std::uint64_t number_of(const std::vector<std::string>& paths) {
  FoldHash hash(0);
  for (const std::string& path : paths) {
    std::string text = read_file({.where = "tools/explore",
                                  .what = "a gate file",
                                  .path = path,
                                  .bytes_max = std::size_t(1) << 30});
    for (char letter : text) hash.fold(std::uint64_t(letter));
  }
  return hash.value();
}

void expect_fitting(const ExploreArguments& arguments, bool has_trace) {
  const ExploreRequest& request = arguments.request;
  bool has_state = !request.state_file.empty();
  auto expect = [](bool holds, std::string_view what) {
    if (!holds) raise(ErrorKind::value_error, "tools/explore", "expected {}", what);
  };
  expect(request.merged.empty() || request.exhaustive, "--exhaustive with --merge");
  expect(!request.exhaustive || !arguments.shard.has_file(),
         "--state with --exhaustive for what a shard has found, got --results");
  bool is_share = arguments.shard.is_given() && !request.exhaustive;
  expect(!is_share || !has_state, "--results with --shard for what it has found, got --state");
  expect(!is_share || !arguments.report.is_given(), "no page of a shard, got --report");
  expect(!is_share || !has_trace, "no trace of a shard, got --trace");
  expect(arguments.faults.empty() || !request.exhaustive, "--faults or --exhaustive, got both");
  expect(arguments.paths.size() == 1 || !request.exhaustive, "one gate with --exhaustive");
  expect(arguments.paths.size() == 1 || arguments.output_file.empty(), "one gate with --output");
  if (!arguments.faults.empty()) fault_kinds(arguments.faults);
  if (arguments.shard.is_given()) JobShard::parse(arguments.shard.shard());
}

int status_of(bool is_interrupted, bool is_ok) {
  if (is_interrupted) return Interrupt::exit_status;
  return is_ok ? 0 : 1;
}

GatesRequest gates_request(const ExploreArguments& arguments) {
  GatesRequest request{.each = arguments.request};
  if (!arguments.faults.empty()) request.faults = fault_kinds(arguments.faults);
  return request;
}

// Prints the result of several gates, or of one with faults, and writes its findings.
template <class Found>
void print_found(const Found& found, const UnitedOutput& options) {
  print_report(options.output.json ? to_json(found) : to_text(found, options.output.quiet));
  options.findings.write([&] { return judged_checks(found); });
}

// FailingSchedule is the file that gets the schedule of a failure, and the line that replays it.
struct FailingSchedule {
  std::string file;
  std::string reproduce;
};

// The result is printed before files are written, so that it isn't lost if they can't be.
void print_found(const GateExploration& found, const FailingSchedule& failing,
                 const UnitedOutput& options) {
  ExploreTextOptions text{.quiet = options.output.quiet, .reproduce = failing.reproduce};
  print_report(options.output.json ? to_json(found, text) : to_text(found, text));
  if (!found.choices.empty())
    write_file(failing.file, found.schedule() + "\n", "the failing schedule");
  options.findings.write([&] { return judged_checks(found, failing.reproduce); });
}

// Explores several gates, or one that goes on from a file.
int run_several(const std::vector<GateFile>& gates, ExploreArguments& arguments,
                const RunWords& options, WatchedRun& watched) {
  GatesExploration found = explore_gates(gates, options, gates_request(arguments));
  watched.end(found.interrupted);
  print_found(found, {arguments.output, arguments.findings});
  if (arguments.report.is_given())
    arguments.report.write(exploration_page(found, arguments.report.command()));
  return status_of(found.interrupted, found.failed() == 0);
}

int run_swarm(const GateFile& gate, ExploreArguments& arguments, const RunWords& options,
              WatchedRun& watched) {
  FaultSwarm swarm =
      run_fault_swarm(gate, options, arguments.request, fault_kinds(arguments.faults));
  watched.end(swarm.interrupted);
  print_found(swarm, {arguments.output, arguments.findings});
  if (arguments.report.is_given())
    arguments.report.write(exploration_page(swarm, arguments.report.command()));
  return status_of(swarm.interrupted, swarm.ok());
}

int run_one(const GateFile& gate, ExploreArguments& arguments, const RunWords& options,
            WatchedRun& watched) {
  GateExploration found = explore_gate(gate, options, arguments.request);
  watched.end(found.interrupted);
  FailingSchedule failing{.file = schedule_file(arguments)};
  if (!found.choices.empty())
    failing.reproduce = reproduce_line(arguments.paths.front(), options, failing.file);
  print_found(found, failing, {arguments.output, arguments.findings});
  if (arguments.report.is_given() && !found.interrupted)
    arguments.report.write(
        exploration_page(gate, options, found,
                         {.report = arguments.report.command(), .reproduce = failing.reproduce}));
  return status_of(found.interrupted, found.ok());
}

// Adds what printing the results takes, beside what the exploration has to say.
void add_facts(ShardResults& keeps, const ExploreArguments& arguments, const RunWords& options) {
  std::string file = schedule_file(arguments);
  keeps.about.set("reproduce", reproduce_line(arguments.paths.front(), options, file));
  keeps.about.set("schedule_file", file);
}

// Prints what jobs of an exploration have found.
int print_explored(const ShardResults& found, const UnitedOutput& options) {
  std::vector<ExploredGate> gates = explored_gates(found);
  if (gates.size() > 1) {
    GatesExploration all = exploration_of(gates);
    print_found(all, options);
    return status_of(false, all.failed() == 0);
  }
  const ExploredGate& gate = gates.at(0);
  if (gate.has_faults) {
    print_found(gate.swarm, options);
    return status_of(false, gate.swarm.ok());
  }
  FailingSchedule failing;
  read_member(found.about, "schedule_file", failing.file);
  if (!gate.seen.choices.empty()) read_member(found.about, "reproduce", failing.reproduce);
  print_found(gate.seen, failing, options);
  return status_of(false, gate.seen.ok());
}

// Makes one of several shares of the runs.
int run_share(const std::vector<GateFile>& gates, ExploreArguments& arguments,
              const RunWords& options, WatchedRun& watched) {
  ShardResults keeps = *arguments.shard.begin();
  keeps.inputs = input_hash(arguments.paths);
  bool is_whole = explore_share(gates, options, gates_request(arguments), {keeps});
  watched.end(!is_whole);
  if (!is_whole) return Interrupt::exit_status;
  add_facts(keeps, arguments, options);
  int status = print_explored(keeps, {arguments.output, arguments.findings});
  arguments.shard.write(keeps);
  return status;
}

std::vector<GateFile> read_gates(const ExploreArguments& arguments) {
  std::vector<GateFile> gates;
  for (const std::string& path : arguments.paths) {
    gates.push_back(read_gate(path));
    expect_memory_of(gates.back(), arguments.run.jobs);
  }
  return gates;
}

int run(ExploreArguments& arguments, const RunWords& options) {
  ExploreRequest& request = arguments.request;
  expect_fitting(arguments, !options.trace_file.empty());
  std::vector<GateFile> gates = read_gates(arguments);
  if (!arguments.output_file.empty())
    expect_writable(arguments.output_file, "the failing schedule");
  arguments.report.expect_writable();
  bool has_state = !request.state_file.empty();
  if (request.exhaustive) request.shard = arguments.shard.shard();
  if (has_state || !request.shard.empty() || !request.merged.empty())
    request.program = number_of(arguments.paths);
  arguments.findings.begin();
  WatchedRun watched(arguments.output);
  request.jobs = std::size_t(arguments.run.jobs);
  request.goes_on = watched.goes_on();
  if (arguments.shard.is_given() && !request.exhaustive)
    return run_share(gates, arguments, options, watched);
  if (gates.size() > 1 || (has_state && !request.exhaustive))
    return run_several(gates, arguments, options, watched);
  if (!arguments.faults.empty()) return run_swarm(gates.front(), arguments, options, watched);
  return run_one(gates.front(), arguments, options, watched);
}

// The processes of a crew share the runs, which are handed out as they get free.
int explore_in_crew(Crew& crew, ExploreArguments& arguments, const RunWords& options) {
  auto results = [&] {
    ShardResults keeps = arguments.shard.begin_in_crew();
    expect_fitting(arguments, !options.trace_file.empty());
    if (arguments.request.exhaustive || !arguments.request.state_file.empty() ||
        arguments.report.is_given() || !options.trace_file.empty())
      raise(ErrorKind::value_error, "tools/explore",
            "expected no --exhaustive, --state, --report and --trace in processes of MPI, got one");
    if (crew.rank() == 0) arguments.findings.begin();
    std::vector<GateFile> gates = read_gates(arguments);
    keeps.inputs = input_hash(arguments.paths);
    explore_share(gates, options, gates_request(arguments),
                  {keeps, [&](std::uint64_t count) { return crew.next(count); }});
    add_facts(keeps, arguments, options);
    return keeps;
  };
  return work_in_crew(crew, {results, [&](const ShardResults& all) {
                               return print_explored(all, {arguments.output, arguments.findings});
                             }});
}

}  // namespace

int print_united_explore(const ShardResults& all, const UnitedOutput& options) {
  for (std::uint64_t job = 0; job < all.jobs; ++job) result_of_job(all, job);
  return print_explored(all, options);
}

void add_explore_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ExploreArguments>();
  CLI::App* app = program.add_subcommand(
      "explore",
      "runs gates under many schedules; last line for one: N schedules, N distinct, data hash H");
  app->add_option("GATE", arguments->paths, "gate files")->required();
  app->add_option("--schedules", arguments->request.schedules,
                  "number of schedules of each gate, at most")
      ->capture_default_str()
      ->check(whole_number(1, 1'000'000'000));
  app->add_flag("--exhaustive", arguments->request.exhaustive,
                "run one schedule of each class of equivalent schedules; for small worlds");
  app->add_option_function<std::string>(
         "--policy",
         [arguments](const std::string& text) {
           arguments->request.policy = schedule_policy_kind(text);
         },
         "how schedules are chosen: mixed, random, pct, pos or walk")
      ->type_name("POLICY=mixed");
  app->add_option("--reseed-at", arguments->request.reseed_at,
                  "let all schedules begin as the first one, and differ from this step on");
  app->add_flag("!--no-certificate", arguments->request.takes_certificate,
                "run all schedules, even if the first run proves the result for all of them");
  app->add_flag("!--no-reuse", arguments->request.reuses_results,
                "compute everything in each run, also what an earlier run has computed from the "
                "same bits");
  app->add_option("--faults", arguments->faults,
                  "give each run a random fault of these kinds: all, or a list as kill,flip_bit");
  app->add_option("--state", arguments->request.state_file,
                  "file that keeps how far an exploration has come, and from which it goes on");
  app->add_option("--merge", arguments->request.merged,
                  "files of all shards of an exhaustive exploration, for one result");
  app->add_option("--output", arguments->output_file,
                  "file for a failing schedule; default: GATE.schedule");
  arguments->run.add_to(*app, RunOptions::Runs::gates, "schedules");
  arguments->shard.add_to(*app, "schedules");
  arguments->findings.add_to(*app);
  arguments->report.add_to(*app);
  arguments->output.add_to(*app);
  app->callback([arguments, &status] {
    RunWords words = arguments->run.words();
    Crew* crew = Crew::present();
    status = crew == nullptr ? run(*arguments, words) : explore_in_crew(*crew, *arguments, words);
  });
}

}  // namespace simmesh
