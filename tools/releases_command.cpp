#include <fmt/core.h>
#include <memory>

#include "core/check/error.h"
#include "core/engine/interrupt.h"
#include "core/engine/ordered_jobs.h"
#include "core/release/release_page.h"
#include "gate/releases_report.h"
#include "tools/commands.h"
#include "tools/gate_memory_check.h"
#include "tools/run_options.h"
#include "tools/terminal.h"

namespace simmesh {

namespace {

struct ReleasesArguments {
  std::vector<std::string> paths;
  bool prints_changes = false;
  RunOptions run;
  OutputOptions output;
};

int run(const ReleasesArguments& arguments, const RunWords& options) {
  if (options.release)
    raise(ErrorKind::value_error, "tools/releases",
          "expected no --release, since gates run under each of them, got {}",
          to_string(*options.release));
  if (!options.trace_file.empty())
    raise(ErrorKind::value_error, "tools/releases",
          "expected no --trace, since gates run several times; trace one run by simmesh run");
  std::vector<GateFile> gates;
  for (const std::string& path : arguments.paths) gates.push_back(read_gate(path));
  for (const GateFile& gate : gates)
    expect_memory_of(gate, std::min<std::int64_t>(arguments.run.jobs, std::int64_t(gates.size())));
  std::vector<ReleaseComparison> comparisons;
  Interrupt::on_sigint();
  run_ordered<ReleaseComparison>(
      {.count = gates.size(), .threads = std::size_t(arguments.run.jobs)},
      [&] { return [&](std::uint64_t i) { return compare_releases(gates[i], options); }; },
      [&](std::uint64_t, ReleaseComparison comparison) {
        comparisons.push_back(std::move(comparison));
        return true;
      });
  if (Interrupt::requested()) {
    std::fputs("simmesh: interrupted\n", stderr);
    return Interrupt::exit_status;
  }
  print_report(arguments.output.json ? to_json(comparisons)
                                     : to_text(comparisons, {.quiet = arguments.output.quiet}));
  return 0;
}

}  // namespace

void add_releases_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ReleasesArguments>();
  CLI::App* app = program.add_subcommand(
      "releases",
      "runs gates under each release of PyTorch and prints what differs; last line: N differences");
  app->add_option("GATE", arguments->paths, "gate files");
  app->add_flag("--changes", arguments->prints_changes,
                "prints the page of all that differs between releases instead");
  arguments->run.add_to(*app, RunOptions::Runs::gates, "gates");
  arguments->output.add_to(*app);
  app->callback([arguments, &status] {
    if (arguments->prints_changes) {
      fmt::print("{}", release_page());
      return;
    }
    if (arguments->paths.empty()) throw CLI::RequiredError("GATE");
    status = run(*arguments, arguments->run.words());
  });
}

}  // namespace simmesh
