#include <filesystem>
#include <fmt/core.h>
#include <memory>

#include "core/check/shell_word.h"
#include "core/check/write_file.h"
#include "gate/explore_gate.h"
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

// The result is printed before files are written, so that it isn't lost if they can't be.
int run(ExploreArguments& arguments, const RunWords& options) {
  GateFile gate = read_gate(arguments.path);
  expect_memory_of(gate, arguments.run.jobs);
  if (!arguments.output_file.empty())
    expect_writable(arguments.output_file, "the failing schedule");
  WatchedRun watched(arguments.output);
  arguments.request.jobs = std::size_t(arguments.run.jobs);
  arguments.request.goes_on = watched.goes_on();
  GateExploration found = explore_gate(gate, options, arguments.request);
  watched.end(found.interrupted);
  ExploreTextOptions text{.quiet = arguments.output.quiet};
  std::string file = schedule_file(arguments);
  if (!found.choices.empty()) text.reproduce = reproduce_line(arguments.path, options, file);
  print_report(arguments.output.json ? to_json(found, text) : to_text(found, text));
  if (!found.choices.empty())
    write_file(file, choices_to_string(found.choices) + "\n", "the failing schedule");
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
  app->add_option("--output", arguments->output_file,
                  "file for a failing schedule; default: GATE.schedule");
  arguments->run.add_to(*app, RunOptions::Runs::gates, "schedules");
  arguments->output.add_to(*app);
  app->callback([arguments, &status] { status = run(*arguments, arguments->run.words()); });
}

}  // namespace simmesh
