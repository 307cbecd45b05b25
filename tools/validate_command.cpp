#include <algorithm>
#include <fmt/core.h>
#include <memory>
#include <thread>

#include "core/check/error.h"
#include "core/check/json_value.h"
#include "sharding/validate/coverage_page.h"
#include "sharding/validate/judged_rules.h"
#include "sharding/validate/validate_page.h"
#include "sharding/validate/validate_report.h"
#include "tools/commands.h"
#include "tools/crew/crew.h"
#include "tools/findings_option.h"
#include "tools/report_option.h"
#include "tools/shard_options.h"
#include "tools/united_reports.h"
#include "tools/watched_run.h"
#include "tools/whole_number.h"
#include "verify/paddle/rule_lines.h"
#include "verify/pytorch/ops/judged_tables.h"
#include "verify/pytorch/ops/rule_files.h"

namespace simmesh {

namespace {

struct ValidateArguments {
  ValidateRequest request;
  std::int64_t jobs = 0;
  bool claimed_only = false, coverage = false, writes_paddle_rules = false;
  std::vector<std::string> tables, beyond, python_files;
  ShardOptions shard;
  FindingsOption findings;
  OutputOptions output;
  ReportOption report;
};

JsonValue json_of(const RuleFilesResult& result) {
  JsonValue::List tables;
  for (const RuleTableVerdict& table : result.tables) {
    JsonValue::List refuted;
    for (const auto& one : table.refuted)
      refuted.push_back(
          JsonValue::object({{"rule", one.rule}, {"trial", one.inputs}, {"what", one.what}}));
    tables.push_back(JsonValue::object({{"id", table.id},
                                        {"function", table.function},
                                        {"rules", table.rule_count},
                                        {"trials", table.trials},
                                        {"wrong", std::move(refuted)},
                                        {"beyond", table.beyond}}));
  }
  return JsonValue::object({{"tables", std::move(tables)},
                            {"rules", result.rule_count()},
                            {"wrong", result.refuted_count()},
                            {"beyond", result.beyond_count()},
                            {"missing", 0}});
}

int judge_tables(const ValidateArguments& arguments) {
  bool shows_beyond = !arguments.beyond.empty();
  if (shows_beyond && !arguments.tables.empty())
    raise(ErrorKind::value_error, "tools/validate", "expected --rules or --beyond, got both");
  RuleFilesRequest request{.paths = shows_beyond ? arguments.beyond : arguments.tables,
                           .seed = arguments.request.options.seed,
                           .jobs = arguments.request.jobs};
  WatchedRun watched(arguments.output);
  request.goes_on = watched.goes_on();
  RuleFilesResult result = judge_rule_files(request);
  watched.end(result.interrupted);
  RuleFilesReport report{.quiet = arguments.output.quiet, .shows_beyond = shows_beyond};
  print_report(arguments.output.json ? json_of(result).text_utf8() + "\n"
                                     : to_text(result, request, report));
  arguments.findings.write([&] { return judged_checks(result, request); });
  return result.interrupted ? Interrupt::exit_status : result.ok() ? 0 : 1;
}

int print_ops(gsl::span<const ReportBlock> ops, const UnitedOutput& options) {
  const OutputOptions& output = options.output;
  print_report(output.json ? json_of_ops(ops) : text_of_ops(ops, output.quiet));
  options.findings.write([&] { return checks_of_each(ops, judged_rules); });
  return count_over(ops, "wrong") == 0 ? 0 : 1;
}

int write_paddle_rules() {
  for (const std::string& line : paddle_rule_lines()) fmt::print("{}\n", line);
  return 0;
}

// Each process judges one op at a time.
ShardResults validate_in_crew(Crew& crew, const ValidateArguments& arguments) {
  ShardResults keeps = arguments.shard.begin_in_crew();
  if (arguments.report.is_given())
    raise(ErrorKind::value_error, "tools/validate",
          "expected no page in processes of MPI, got --report");
  if (crew.rank() == 0) arguments.findings.begin();
  keeps.jobs = op_count(arguments.request);
  for (std::uint64_t i; (i = crew.next(keeps.jobs)) < keeps.jobs;) {
    ValidateRequest request = arguments.request;
    request.shard = {.index = i + 1, .count = keeps.jobs};
    ValidateResult result = validate(request);
    keeps.results.emplace(i, to_json(op_block(result.ops.at(0), request.options)));
  }
  return keeps;
}

int run(ValidateArguments& arguments) {
  if (arguments.writes_paddle_rules) return write_paddle_rules();
  if (!arguments.python_files.empty())
    raise(ErrorKind::value_error, "tools/validate",
          "rules of Python functions are judged by the Python package: "
          "python -m simmesh validate --python {}",
          arguments.python_files[0]);
  ValidateRequest& request = arguments.request;
  std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  request.jobs = arguments.jobs == 0 ? cores : std::size_t(arguments.jobs);
  bool has_tables = !arguments.tables.empty() || !arguments.beyond.empty();
  if (has_tables && (!request.ops.empty() || arguments.coverage))
    raise(ErrorKind::value_error, "tools/validate",
          "expected either tables of rules or ops of ours, got both");
  if (arguments.shard.is_given() && (has_tables || arguments.coverage))
    raise(ErrorKind::value_error, "tools/validate",
          "expected --shard for ops of ours, got {} with it",
          has_tables ? "tables of rules" : "--coverage");
  if (arguments.report.is_given() && (has_tables || arguments.coverage))
    raise(ErrorKind::value_error, "tools/validate",
          "expected --report for ops of ours, got {} with it",
          has_tables ? "tables of rules" : "--coverage");
  Crew* crew = arguments.coverage || has_tables ? nullptr : Crew::present();
  if (crew == nullptr) {
    arguments.findings.begin();
    arguments.report.expect_writable();
  }
  if (has_tables) return judge_tables(arguments);
  if (arguments.coverage && !request.ops.empty())
    raise(ErrorKind::value_error, "tools/validate", "expected --coverage without ops, got '{}'",
          request.ops[0]);
  arguments.claimed_only |= arguments.coverage;
  request.options.finds_missing = !arguments.claimed_only;
  if (crew != nullptr) {
    if (arguments.jobs == 0) request.jobs = 1;
    return work_in_crew(
        *crew, {[&] { return validate_in_crew(*crew, arguments); },
                [&](const ShardResults& all) {
                  return print_united_validate(all, {arguments.output, arguments.findings});
                }});
  }
  std::optional<ShardResults> keeps = arguments.shard.begin();
  if (keeps) {
    request.shard = keeps->shard;
    keeps->jobs = op_count(request);
  }
  WatchedRun watched(arguments.output);
  request.goes_on = watched.goes_on();
  ValidateResult result = validate(request);
  watched.end(result.interrupted);
  if (arguments.coverage && !result.interrupted && result.ok()) {
    fmt::print("{}", coverage_page(result));
    return 0;
  }
  std::vector<ReportBlock> ops = op_blocks(result, request.options);
  int status = print_ops(ops, {arguments.output, arguments.findings});
  if (arguments.report.is_given() && !result.interrupted)
    arguments.report.write(validate_page(result, request, arguments.report.command()));
  if (keeps && !result.interrupted) {
    for (std::size_t i = 0; i < ops.size(); ++i)
      keeps->results.emplace(request.shard.job(i), to_json(ops[i]));
    arguments.shard.write(*keeps);
  }
  return result.interrupted ? Interrupt::exit_status : status;
}

}  // namespace

int print_united_validate(const ShardResults& all, const UnitedOutput& options) {
  return print_ops(report_blocks(all), options);
}

void add_validate_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ValidateArguments>();
  CLI::App* app = program.add_subcommand(
      "validate", "judges the sharding rules of ops; last line: N rules, N wrong, N missing");
  app->add_option("OP", arguments->request.ops, "ops to judge; none: all of them");
  app->add_option("--seed", arguments->request.options.seed, "seed of the data and of its pieces")
      ->capture_default_str()
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  app->add_option("--jobs", arguments->jobs, "sample calls judged side by side; changes no result")
      ->configurable(false)
      ->default_str("all cores")
      ->check(whole_number(1, 1024));
  app->add_flag("--claimed-only", arguments->claimed_only, "don't look for rules that are missing");
  app->add_option("--rules", arguments->tables,
                  "judge the tables of rules in these files instead of our rules")
      ->type_name("FILE");
  app->add_option("--beyond", arguments->beyond,
                  "also print the rules of ours that the tables in these files lack")
      ->type_name("FILE");
  app->add_flag("--coverage", arguments->coverage,
                "print the page of all ops and the placements that they keep instead");
  app->add_flag("--write-paddle-rules", arguments->writes_paddle_rules,
                "print Paddle's rules as a file for --rules instead");
  app->add_option("--python", arguments->python_files,
                  "judge the rules of functions in these files of Python instead")
      ->type_name("FILE");
  arguments->shard.add_to(*app, "ops");
  arguments->findings.add_to(*app);
  arguments->report.add_to(*app);
  arguments->output.add_to(*app);
  app->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace simmesh
