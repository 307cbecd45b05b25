#include <fmt/core.h>
#include <memory>

#include "gate/gate_explain.h"
#include "gate/gate_report.h"
#include "tools/commands.h"
#include "tools/gate_options.h"

namespace simmesh {

namespace {

struct RunArguments {
  std::vector<std::string> paths;
  bool explain = false;
  RunOptions run;
  OutputOptions output;
};

// All files are read before the first gate runs, and nothing is printed before the last has run.
int run(const RunArguments& arguments, const GateRunOptions& options) {
  std::vector<GateFile> gates;
  for (const std::string& path : arguments.paths) gates.push_back(read_gate(path));
  if (arguments.explain) {
    for (const GateFile& gate : gates) fmt::print("{}", explain(gate));
    return 0;
  }
  std::vector<GateResult> results;
  results.reserve(gates.size());
  for (const GateFile& gate : gates) results.push_back(run_gate(gate, options));
  fmt::print("{}", arguments.output.json ? to_json(results)
                                         : to_text(results, {.quiet = arguments.output.quiet}));
  for (const GateResult& result : results)
    if (result.failed() > 0) return 1;
  return 0;
}

}  // namespace

void add_run_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* app = program.add_subcommand(
      "run", "runs gate files and checks what must hold; last line: N passed, N failed");
  app->add_option("GATE", arguments->paths, "gate files")->required();
  app->add_flag("--explain", arguments->explain,
                "print the gate with all defaults as TOML, without running it");
  arguments->run.add_to(*app);
  arguments->output.add_to(*app);
  app->callback(
      [arguments, app, &status] { status = run(*arguments, gate_options(arguments->run, *app)); });
}

}  // namespace simmesh
