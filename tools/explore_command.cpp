#include <filesystem>
#include <fmt/core.h>
#include <memory>

#include "core/check/error.h"
#include "core/check/fold_hash.h"
#include "core/check/read_file.h"
#include "core/check/shell_word.h"
#include "core/check/write_file.h"
#include "core/engine/search/search_state.h"
#include "gate/explore_gate.h"
#include "gate/fault_swarm.h"
#include "tools/commands.h"
#include "tools/gate_memory_check.h"
#include "tools/run_options.h"
#include "tools/watched_run.h"
#include "tools/whole_number.h"

namespace simmesh {

namespace {

struct ExploreArguments {
  std::string path;
  std::string output_file;
  ExploreRequest request;
  std::string faults;
  RunOptions run;
  OutputOptions output;
};

std::string schedule_file(const ExploreArguments& arguments) {
  if (!arguments.output_file.empty()) return arguments.output_file;
  return std::filesystem::path(arguments.path).stem().string() + ".schedule";
}

// The line replays the file of the shortest failing schedule.
std::string reproduce_line(const std::string& gate, RunWords words, const std::string& file) {
  words.schedule = "replay:" + file;
  return "simmesh run " + shell_word(gate) + flags(words);
}

// Names a gate by the bytes of its file.
std::uint64_t number_of(const std::string& path) {
  FoldHash hash(0);
  std::string text = read_file({.where = "tools/explore",
                                .what = "a gate file",
                                .path = path,
                                .bytes_max = std::size_t(1) << 30});
  for (char letter : text) hash.fold(std::uint64_t(letter));
  return hash.value();
}

// The result is printed before files are written, so that it isn't lost if they can't be.
int run(ExploreArguments& arguments, const RunWords& options) {
  const ExploreRequest& request = arguments.request;
  bool is_shared = !request.shard.empty() || !request.state_file.empty() || !request.merged.empty();
  if (is_shared && !request.exhaustive)
    raise(ErrorKind::value_error, "tools/explore",
          "expected --exhaustive with --shard, --state and --merge");
  if (!arguments.faults.empty() && request.exhaustive)
    raise(ErrorKind::value_error, "tools/explore", "expected --faults or --exhaustive, got both");
  if (!arguments.faults.empty()) fault_kinds(arguments.faults);
  if (!request.shard.empty()) JobShard::parse(request.shard);
  GateFile gate = read_gate(arguments.path);
  expect_memory_of(gate, arguments.run.jobs);
  if (!arguments.output_file.empty())
    expect_writable(arguments.output_file, "the failing schedule");
  if (is_shared) arguments.request.program = number_of(arguments.path);
  WatchedRun watched(arguments.output);
  arguments.request.jobs = std::size_t(arguments.run.jobs);
  arguments.request.goes_on = watched.goes_on();
  if (!arguments.faults.empty()) {
    FaultSwarm swarm =
        run_fault_swarm(gate, options, arguments.request, fault_kinds(arguments.faults));
    watched.end(swarm.interrupted);
    print_report(arguments.output.json ? to_json(swarm) : to_text(swarm, arguments.output.quiet));
    if (swarm.interrupted) return Interrupt::exit_status;
    return swarm.ok() ? 0 : 1;
  }
  GateExploration found = explore_gate(gate, options, arguments.request);
  watched.end(found.interrupted);
  ExploreTextOptions text{.quiet = arguments.output.quiet};
  std::string file = schedule_file(arguments);
  if (!found.choices.empty()) text.reproduce = reproduce_line(arguments.path, options, file);
  print_report(arguments.output.json ? to_json(found, text) : to_text(found, text));
  if (!found.choices.empty()) write_file(file, found.schedule() + "\n", "the failing schedule");
  if (found.interrupted) return Interrupt::exit_status;
  return found.ok() ? 0 : 1;
}

}  // namespace

void add_explore_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ExploreArguments>();
  CLI::App* app = program.add_subcommand(
      "explore",
      "runs one gate under many schedules; last line: N schedules, N distinct, data hash H");
  app->add_option("GATE", arguments->path, "a gate file")->required();
  app->add_option("--schedules", arguments->request.schedules, "number of schedules, at most")
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
  app->add_option("--faults", arguments->faults,
                  "give each run a random fault of these kinds: all, or a list as kill,flip_bit");
  app->add_option("--shard", arguments->request.shard,
                  "make one of several shards of an exhaustive exploration, such as 2/8");
  app->add_option("--state", arguments->request.state_file,
                  "file of an exhaustive exploration, from which it goes on");
  app->add_option("--merge", arguments->request.merged,
                  "files of all shards of an exhaustive exploration, for one result");
  app->add_option("--output", arguments->output_file,
                  "file for a failing schedule; default: GATE.schedule");
  arguments->run.add_to(*app, RunOptions::Runs::gates, "schedules");
  arguments->output.add_to(*app);
  app->callback([arguments, &status] { status = run(*arguments, arguments->run.words()); });
}

}  // namespace simmesh
