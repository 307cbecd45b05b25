#include <map>
#include <memory>

#include "core/check/error.h"
#include "core/shards/shard_request.h"
#include "tools/commands.h"
#include "tools/run_options.h"
#include "tools/united_reports.h"

namespace simmesh {

namespace {

using PrintUnited = int(const ShardResults& all, const UnitedOutput& options);

constexpr std::pair<std::string_view, PrintUnited*> reports[] = {
    {"run", print_united_run},         {"explore", print_united_explore},
    {"verify", print_united_verify},   {"validate", print_united_validate},
    {"compose", print_united_compose},
};

int merge(const std::vector<std::string>& paths, const UnitedOutput& options) {
  options.findings.begin();
  ShardResults all = united_from(paths);
  for (const auto& [command, print] : reports)
    if (command == all.command) return print(all, options);
  if (all.command == "museum")
    raise(ErrorKind::value_error, "tools/merge",
          "{}: expected results of run, explore, verify, validate or compose, got those of museum, "
          "which the Python package merges, from files that are no pipes: "
          "python -m simmesh merge FILE...",
          paths.front());
  raise(ErrorKind::value_error, "tools/merge",
        "{}: expected results of run, explore, verify, validate or compose, got {}", paths.front(),
        all.command);
}

struct MergeArguments {
  std::vector<std::string> paths;
  UnitedOutput options;
};

}  // namespace

void add_merge_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<MergeArguments>();
  CLI::App* app = program.add_subcommand(
      "merge",
      "prints the results of all shards of run, explore, verify, validate or compose, as one run "
      "does");
  app->add_option("FILE", arguments->paths, "the files of all shards")->required();
  arguments->options.findings.add_to(*app);
  arguments->options.output.add_to(*app);
  app->callback([arguments, &status] { status = merge(arguments->paths, arguments->options); });
}

}  // namespace simmesh
