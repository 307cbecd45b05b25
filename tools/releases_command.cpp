#include <fmt/core.h>
#include <memory>

#include "core/check/error.h"
#include "core/engine/ordered_jobs.h"
#include "core/release/release_page.h"
#include "gate/compare_releases.h"
#include "gate/run_gate.h"
#include "tools/commands.h"
#include "tools/gate_memory_check.h"
#include "tools/run_options.h"
#include "tools/watched_run.h"
#include "verify/compare_case_releases.h"

namespace simmesh {

namespace {

struct ReleasesArguments {
  std::vector<std::string> paths;
  bool prints_changes = false;
  RunOptions run;
  OutputOptions output;
};

// Replaces the paths that name gates by their comparisons.
void compare_gates(const ReleasesArguments& arguments, const RunWords& options,
                   std::vector<ReleaseComparison>& comparisons) {
  std::vector<GateFile> gates;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < arguments.paths.size(); ++i) {
    if (is_case_path(arguments.paths[i])) continue;
    gates.push_back(read_gate(arguments.paths[i]));
    places.push_back(i);
  }
  for (const GateFile& gate : gates) expect_process_seats(gate, options, arguments.run.jobs);
  for (const GateFile& gate : gates)
    expect_memory_of(gate, std::min<std::int64_t>(arguments.run.jobs, std::int64_t(gates.size())));
  run_ordered<ReleaseComparison>(
      {.count = gates.size(), .threads = std::size_t(arguments.run.jobs)},
      [&] { return [&](std::uint64_t i) { return compare_releases(gates[i], options); }; },
      [&](std::uint64_t i, ReleaseComparison comparison) {
        comparisons[places[i]] = std::move(comparison);
        return true;
      });
}

int run(const ReleasesArguments& arguments, const RunWords& options) {
  if (options.release)
    raise(ErrorKind::value_error, "tools/releases",
          "expected no --release, since everything runs under each of them, got {}",
          to_string(*options.release));
  if (!options.trace_file.empty())
    raise(ErrorKind::value_error, "tools/releases",
          "expected no --trace, since everything runs several times; trace one run by simmesh run "
          "or simmesh verify");
  std::vector<ReleaseComparison> comparisons(arguments.paths.size());
  WatchedRun watched(arguments.output);
  compare_gates(arguments, options, comparisons);
  for (std::size_t i = 0; i < comparisons.size() && !Interrupt::requested(); ++i)
    if (is_case_path(arguments.paths[i]))
      comparisons[i] = compare_case_releases({.path = arguments.paths[i],
                                              .options = options,
                                              .jobs = std::size_t(arguments.run.jobs),
                                              .goes_on = watched.goes_on()});
  watched.end(Interrupt::requested());
  if (Interrupt::requested()) return Interrupt::exit_status;
  print_report(arguments.output.json ? to_json(comparisons)
                                     : to_text(comparisons, {.quiet = arguments.output.quiet}));
  return 0;
}

}  // namespace

void add_releases_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ReleasesArguments>();
  CLI::App* app = program.add_subcommand(
      "releases",
      "runs gates and recorded cases under each release of PyTorch and prints what differs; last "
      "line: N differences");
  app->add_option("PATH", arguments->paths, "gate files, files with cases, or folders of them");
  app->add_flag("--changes", arguments->prints_changes,
                "prints the page of all that differs between releases instead");
  arguments->run.add_to(*app, RunOptions::Runs::gates, "gates or cases");
  arguments->output.add_to(*app);
  app->callback([arguments, &status] {
    if (arguments->prints_changes) {
      fmt::print("{}", release_page());
      return;
    }
    if (arguments->paths.empty()) throw CLI::RequiredError("PATH");
    status = run(*arguments, arguments->run.words());
  });
}

}  // namespace simmesh
