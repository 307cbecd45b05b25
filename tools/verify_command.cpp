#include <fmt/core.h>
#include <memory>

#include "core/check/error.h"
#include "core/engine/reports/interrupt.h"
#include "core/engine/spread/world_spread.h"
#include "tools/commands.h"
#include "tools/crew/crew.h"
#include "tools/findings_option.h"
#include "tools/run_options.h"
#include "tools/shard_options.h"
#include "tools/spread_options.h"
#include "tools/united_reports.h"
#include "tools/watched_run.h"
#include "tools/whole_number.h"
#include "verify/case_fields.h"
#include "verify/verdict/judged_case.h"
#include "verify/verify.h"

namespace simmesh {

namespace {

struct VerifyArguments {
  std::vector<std::string> paths;
  std::string kinds;
  std::string excluded_kinds;
  std::vector<std::string> where;
  std::string id;
  std::int64_t limit = 0;
  bool has_limit = false;
  bool fail_fast = false;
  bool prints_fields = false;
  RunOptions run;
  SpreadOptions spread;
  ShardOptions shard;
  FindingsOption findings;
  OutputOptions output;
};

VerifyRequest request_of(const VerifyArguments& arguments) {
  VerifyRequest request;
  request.paths = arguments.paths;
  if (!arguments.kinds.empty()) request.filter.kinds = CaseFilter::split(arguments.kinds);
  if (!arguments.excluded_kinds.empty())
    request.filter.excluded_kinds = CaseFilter::split(arguments.excluded_kinds);
  for (const std::string& text : arguments.where)
    request.filter.where.push_back(CaseFilter::parse_where(text));
  request.filter.id = arguments.id;
  if (arguments.has_limit) request.limit = arguments.limit;
  request.fail_fast = arguments.fail_fast;
  request.options = arguments.run.words();
  request.jobs = std::size_t(arguments.run.jobs);
  return request;
}

int verify_in_crew(Crew& crew, const VerifyArguments& arguments) {
  return work_in_crew(
      crew, {.results =
                 [&] {
                   ShardResults keeps = arguments.shard.begin_in_crew();
                   if (crew.rank() == 0) arguments.findings.begin();
                   VerifyRequest request = request_of(arguments);
                   request.keeps = &keeps;
                   request.next_job = [&](std::uint64_t count) { return crew.next(count); };
                   verify(request);
                   return keeps;
                 },
             .print =
                 [&](const ShardResults& all) {
                   return print_united_verify(all, {arguments.output, arguments.findings});
                 }});
}

// Runs the cases; of processes that worlds are spread over, one writes.
int verify_cases(const VerifyArguments& arguments) {
  bool writes = WorldSpread::writes_files();
  VerifyRequest request = request_of(arguments);
  std::optional<ShardResults> keeps = arguments.shard.begin();
  if (keeps) {
    request.shard = keeps->shard;
    request.keeps = &*keeps;
  }
  if (writes) arguments.findings.begin();
  std::vector<JudgedCheck> checks;
  if (arguments.findings.is_given())
    request.takes = [&checks](const CaseResult& one) { checks.push_back(judged_check(one)); };
  OutputOptions output = arguments.output;
  output.quiet = output.quiet || !writes;
  WatchedRun watched(output);
  request.goes_on = watched.goes_on();
  VerifyResult result = verify(request);
  watched.end(result.interrupted);
  if (!writes) return 0;
  print_report(output.json ? to_json(result) : to_text(result, {.quiet = output.quiet}));
  arguments.findings.write([&] { return checks; });
  if (keeps && !result.interrupted) arguments.shard.write(*keeps);
  return result.interrupted ? Interrupt::exit_status : result.ok() ? 0 : 1;
}

}  // namespace

int print_united_verify(const ShardResults& all, const UnitedOutput& options) {
  const OutputOptions& output = options.output;
  VerifyResult result = united_result(all);
  print_report(output.json ? to_json(result) : to_text(result, {.quiet = output.quiet}));
  options.findings.write([&] {
    std::vector<JudgedCheck> checks;
    for (const auto& [job, one] : all.results)
      checks.push_back(judged_check(case_result_from(one)));
    return checks;
  });
  return result.ok() ? 0 : 1;
}

void add_verify_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* app = program.add_subcommand(
      "verify", "runs recorded cases and compares the results; last line: N passed, N failed");
  app->add_option("PATH", arguments->paths, "files with cases, or folders");
  app->add_option("--kind", arguments->kinds, "only cases of these kinds: K[,K]");
  app->add_option("--exclude-kind", arguments->excluded_kinds, "no cases of these kinds: K[,K]");
  app->add_option("--where", arguments->where, "only cases with this value: FIELD=JSON");
  app->add_option("--id", arguments->id, "only cases whose id matches: GLOB");
  CLI::Option* limit = app->add_option("--limit", arguments->limit, "number of cases, at most")
                           ->check(whole_number(0));
  app->add_flag("--fail-fast", arguments->fail_fast, "stop after the first failure");
  app->add_flag("--fields", arguments->prints_fields,
                "prints the page of all fields of all kinds instead");
  arguments->run.add_to(*app, RunOptions::Runs::cases, "cases");
  arguments->spread.add_to(*app, "cases");
  arguments->shard.add_to(*app, "cases");
  arguments->findings.add_to(*app);
  arguments->output.add_to(*app);
  app->callback([arguments, limit, &status] {
    if (arguments->prints_fields) {
      fmt::print("{}", case_fields_page());
      return;
    }
    if (arguments->paths.empty()) throw CLI::RequiredError("PATH");
    arguments->has_limit = limit->count() > 0;
    if (Crew* crew = Crew::present(); crew && !arguments->spread.is_given()) {
      status = verify_in_crew(*crew, *arguments);
      return;
    }
    arguments->spread.expect_possible(arguments->run.words(), arguments->run.jobs);
    status = arguments->spread.run([&] { return verify_cases(*arguments); });
  });
}

}  // namespace simmesh
