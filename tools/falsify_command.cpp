#include <fmt/core.h>
#include <memory>

#include "core/check/error.h"
#include "tools/commands.h"
#include "tools/run_options.h"
#include "tools/watched_run.h"
#include "tools/whole_number.h"
#include "verify/falsify/falsified_page.h"
#include "verify/falsify/falsify.h"

namespace simmesh {

namespace {

struct FalsifyArguments {
  std::vector<std::string> paths;
  std::string kinds;
  std::string excluded_kinds;
  std::string id;
  std::string at;
  std::size_t limit = 0;
  ChangeSample sample;
  bool prints_page = false;
  RunOptions run;
  OutputOptions output;
};

FalsifyRequest request_of(const FalsifyArguments& arguments) {
  FalsifyRequest request;
  request.paths = arguments.paths;
  if (!arguments.kinds.empty()) request.filter.kinds = CaseFilter::split(arguments.kinds);
  if (!arguments.excluded_kinds.empty())
    request.filter.excluded_kinds = CaseFilter::split(arguments.excluded_kinds);
  request.filter.id = arguments.id;
  request.at = arguments.at;
  if (arguments.limit > 0) request.cases_per_kind = arguments.limit;
  request.sample = arguments.sample;
  request.options = arguments.run.words();
  request.jobs = std::size_t(arguments.run.jobs);
  return request;
}

}  // namespace

void add_falsify_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<FalsifyArguments>();
  CLI::App* app = program.add_subcommand(
      "falsify", "changes recorded cases that pass, one place at a time; they must fail then");
  app->add_option("PATH", arguments->paths, "files with cases, or folders");
  app->add_option("--kind", arguments->kinds, "only cases of these kinds: K[,K]");
  app->add_option("--exclude-kind", arguments->excluded_kinds, "no cases of these kinds: K[,K]");
  app->add_option("--id", arguments->id, "only cases whose id matches: GLOB");
  app->add_option("--at", arguments->at, "only changes at this place: a JSON pointer");
  app->add_option("--limit", arguments->limit, "number of cases of each kind, at most")
      ->check(whole_number(1));
  app->add_option("--sample", arguments->sample.count,
                  "number of changes of each case, at most; the seed chooses them")
      ->default_str("all")
      ->check(whole_number(1));
  app->add_option("--per-field", arguments->sample.per_field,
                  "number of changes of one way at each field of each case, at most: the entries "
                  "of a list are one field")
      ->default_str("all")
      ->check(whole_number(1));
  app->add_flag("--page", arguments->prints_page,
                "prints the page of all places whose change may pass instead");
  arguments->run.add_to(*app, RunOptions::Runs::cases, "cases");
  arguments->output.add_to(*app);
  app->callback([arguments, &status] {
    if (arguments->prints_page) {
      fmt::print("{}", falsified_page());
      return;
    }
    if (arguments->paths.empty()) throw CLI::RequiredError("PATH");
    FalsifyRequest request = request_of(*arguments);
    WatchedRun watched(arguments->output);
    request.goes_on = watched.goes_on();
    FalsifyResult result = falsify(request);
    watched.end(result.interrupted);
    print_report(arguments->output.json ? to_json(result)
                                        : to_text(result, {.quiet = arguments->output.quiet}));
    status = result.interrupted ? Interrupt::exit_status : result.ok() ? 0 : 1;
  });
}

}  // namespace simmesh
