#include <filesystem>
#include <fmt/core.h>
#include <memory>

#include "core/check/error.h"
#include "core/check/shell_word.h"
#include "gate/explore_gate.h"
#include "tools/commands.h"
#include "tools/gate_options.h"
#include "tools/write_file.h"

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
std::string reproduce_line(const ExploreArguments& arguments, const GateRunOptions& options,
                           const std::string& file) {
  std::string line = fmt::format("simmesh run {} --schedule {}", shell_word(arguments.path),
                                 shell_word("replay:" + file));
  if (options.seed != 0) line += fmt::format(" --seed {}", options.seed);
  if (options.arithmetic) line += " --arithmetic " + shell_word(*options.arithmetic);
  return line;
}

int run(const ExploreArguments& arguments, const GateRunOptions& options) {
  GateExploration found = explore_gate(read_gate(arguments.path), options, arguments.request);
  ExploreTextOptions text{.quiet = arguments.output.quiet};
  if (!found.choices.empty()) {
    std::string file = schedule_file(arguments);
    write_file(file, choices_to_string(found.choices) + "\n", "the failing schedule");
    text.reproduce = reproduce_line(arguments, options, file);
  }
  fmt::print("{}", arguments.output.json ? to_json(found, text) : to_text(found, text));
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
      ->check(CLI::Range(std::int64_t(1), std::int64_t(1'000'000'000)));
  app->add_flag("--exhaustive", arguments->request.exhaustive,
                "run one schedule of each class of equivalent schedules; for small worlds");
  app->add_option("--output", arguments->output_file,
                  "file for a failing schedule; default: GATE.schedule");
  arguments->run.add_to(*app);
  arguments->output.add_to(*app);
  app->callback(
      [arguments, app, &status] { status = run(*arguments, gate_options(arguments->run, *app)); });
}

}  // namespace simmesh
