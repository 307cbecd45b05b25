#include <charconv>
#include <fmt/core.h>
#include <memory>

#include "core/check/error.h"
#include "gate/compose/compose.h"
#include "gate/compose/compose_report.h"
#include "gate/compose/composition_shards.h"
#include "gate/compose/judged_layouts.h"
#include "tools/commands.h"
#include "tools/crew/crew.h"
#include "tools/findings_option.h"
#include "tools/report_option.h"
#include "tools/run_options.h"
#include "tools/shard_options.h"
#include "tools/united_reports.h"
#include "tools/watched_run.h"
#include "tools/whole_number.h"

namespace simmesh {

namespace {

struct ComposeArguments {
  std::string path;
  std::string ranks = "2..16";
  ReportOption report;
  bool lists = false;
  std::vector<std::string> faults;
  ComposeRequest request;
  RunOptions run;
  ShardOptions shard;
  FindingsOption findings;
  OutputOptions output;
};

// Reads "2..16" or "8".
RanksRange ranks_of(const std::string& text) {
  constexpr std::int64_t ranks_max = 4096;
  std::size_t dots = text.find("..");
  std::string first = text.substr(0, dots);
  std::string last = dots == std::string::npos ? first : text.substr(dots + 2);
  auto number = [](const std::string& digits, std::int64_t& value) {
    const char* end = digits.data() + digits.size();
    auto [stop, error] = std::from_chars(digits.data(), end, value);
    return error == std::errc() && stop == end;
  };
  RanksRange ranks;
  if (!number(first, ranks.min) || !number(last, ranks.max) || ranks.min < 1 ||
      ranks.max < ranks.min || ranks.max > ranks_max)
    raise(ErrorKind::value_error, "tools/compose",
          "--ranks: expected a number from 1 to {}, or two of them such as 2..16, got '{}'",
          ranks_max, text);
  return ranks;
}

int print_layouts(const Composition& found, const UnitedOutput& options) {
  const OutputOptions& output = options.output;
  print_report(output.json ? to_json(found) : to_text(found, {.quiet = output.quiet}));
  options.findings.write([&] { return judged_checks(found); });
  return found.failed() > 0 ? 1 : 0;
}

// Each process trains in one layout at a time.
int compose_in_crew(Crew& crew, ComposeArguments& arguments, const RunWords& options,
                    const GateFile& gate) {
  auto results = [&] {
    ShardResults keeps = arguments.shard.begin_in_crew();
    if (arguments.report.is_given())
      raise(ErrorKind::value_error, "tools/compose",
            "expected no page in processes of MPI, got --report");
    if (crew.rank() == 0) arguments.findings.begin();
    keeps.inputs = input_hash({arguments.path});
    arguments.request.keeps = &keeps;
    arguments.request.next_job = [&](std::uint64_t count) { return crew.next(count); };
    compose(gate, options, arguments.request);
    return keeps;
  };
  return work_in_crew(crew,
                      {results, [&](const ShardResults& all) {
                         return print_united_compose(all, {arguments.output, arguments.findings});
                       }});
}

int run(ComposeArguments& arguments, const RunWords& options) {
  ComposeRequest& request = arguments.request;
  request.ranks = ranks_of(arguments.ranks);
  check_forms(request);
  for (const std::string& fault : arguments.faults)
    request.faults.push_back(parse_injected_fault(fault));
  if (!options.trace_file.empty())
    raise(ErrorKind::value_error, "tools/compose",
          "--trace: expected a single run, which `simmesh run` traces");
  GateFile gate = read_compose_model(arguments.path);
  if (arguments.lists) {
    for (const ComposeLayout& layout : layouts_asked_for(gate, request).fitting)
      fmt::print("{}\n", layout.name);
    return 0;
  }
  request.jobs = std::size_t(arguments.run.jobs);
  if (Crew* crew = Crew::present()) return compose_in_crew(*crew, arguments, options, gate);
  std::optional<ShardResults> keeps = arguments.shard.begin();
  if (keeps) {
    keeps->inputs = input_hash({arguments.path});
    request.shard = keeps->shard;
    request.keeps = &*keeps;
  }
  arguments.findings.begin();
  arguments.report.expect_writable();
  WatchedRun watched(arguments.output);
  request.goes_on = watched.goes_on();
  Composition found = compose(gate, options, request);
  watched.end(found.interrupted);
  int status = print_layouts(found, {arguments.output, arguments.findings});
  if (arguments.report.is_given())
    arguments.report.write(compose_page(found, arguments.report.command()));
  if (found.interrupted) return Interrupt::exit_status;
  if (keeps) arguments.shard.write(*keeps);
  return status;
}

}  // namespace

int print_united_compose(const ShardResults& all, const UnitedOutput& options) {
  return print_layouts(united_composition(all), options);
}

void add_compose_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ComposeArguments>();
  CLI::App* app = program.add_subcommand(
      "compose",
      "trains a model in every layout that fits some ranks, each with the bits of one device; last "
      "line: N passed, N failed");
  app->add_option("MODEL", arguments->path, "a gate file, for its model, data and training")
      ->required();
  app->add_option("--ranks", arguments->ranks, "numbers of ranks: 8, or 2..16")
      ->capture_default_str();
  app->add_option("--only", arguments->request.only,
                  "only layouts with one of these forms: fsdp,tensor")
      ->delimiter(',');
  app->add_option("--without", arguments->request.without, "no layouts with one of these forms")
      ->delimiter(',');
  app->add_option("--layout", arguments->request.layout,
                  "only the layout of this name, as the table has it");
  app->add_option("--sample", arguments->request.sample,
                  "only this number of layouts, spread evenly over all")
      ->check(whole_number(1, 1'000'000));
  app->add_flag("--list", arguments->lists, "print the names of the layouts, without running them");
  app->add_option("--inject", arguments->faults,
                  "multiply the gradients of layouts with some forms, which must be found: "
                  "expert+tensor=2")
      ->type_name("FORMS=FACTOR");
  arguments->report.add_to(*app, "--html");
  arguments->run.add_to(*app, RunOptions::Runs::gates, "layouts");
  arguments->shard.add_to(*app, "layouts");
  arguments->findings.add_to(*app);
  arguments->output.add_to(*app);
  app->callback([arguments, &status] { status = run(*arguments, arguments->run.words()); });
}

}  // namespace simmesh
