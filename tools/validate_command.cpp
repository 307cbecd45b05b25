#include <fmt/core.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "sharding/validate/validate_report.h"
#include "tools/commands.h"
#include "tools/watched_run.h"

namespace simmesh {

namespace {

using Json = nlohmann::ordered_json;

struct ValidateArguments {
  ValidateRequest request;
  std::int64_t jobs = 0;
  bool claimed_only = false;
  OutputOptions output;
};

Json to_json(const std::map<std::string, RuleVerdict>& rules) {
  Json list = Json::array();
  for (const auto& [text, verdict] : rules) {
    Json rule = {{"rule", text}, {"trials", verdict.trials}, {"gradients", verdict.has_gradient}};
    if (verdict.wrong)
      rule["wrong"] = {{"mesh", verdict.wrong->mesh},
                       {"inputs", verdict.wrong->inputs},
                       {"what", verdict.wrong->what}};
    list.push_back(std::move(rule));
  }
  return list;
}

Json to_json(const ValidateResult& result) {
  Json ops = Json::array();
  for (const OpVerdict& op : result.ops) {
    Json calls = Json::array();
    for (const SampleVerdict& sample : op.samples)
      calls.push_back({{"call", sample.call},
                       {"trials", sample.trials},
                       {"combinations", sample.combinations},
                       {"rules", to_json(sample.rules)},
                       {"wrong_over_two_dims", to_json(sample.over_two_dims)},
                       {"missing", sample.missing}});
    ops.push_back({{"op", op.op}, {"way", to_string(op.way)}, {"calls", std::move(calls)}});
  }
  return {{"ops", std::move(ops)},
          {"combinations", result.combination_count()},
          {"rules", result.rule_count()},
          {"wrong", result.wrong_count()},
          {"missing", result.missing_count()}};
}

int run(ValidateArguments& arguments) {
  ValidateRequest& request = arguments.request;
  std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  request.jobs = arguments.jobs == 0 ? cores : std::size_t(arguments.jobs);
  request.options.finds_missing = !arguments.claimed_only;
  WatchedRun watched(arguments.output);
  request.goes_on = watched.goes_on();
  ValidateResult result = validate(request);
  watched.end(result.interrupted);
  print_report(arguments.output.json ? to_json(result).dump() + "\n"
                                     : to_text(result, request, arguments.output.quiet));
  return result.interrupted ? Interrupt::exit_status : result.ok() ? 0 : 1;
}

}  // namespace

void add_validate_command(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ValidateArguments>();
  CLI::App* app = program.add_subcommand(
      "validate", "judges the sharding rules of ops; last line: N rules, N wrong, N missing");
  app->add_option("OP", arguments->request.ops, "ops to judge; none: all of them");
  app->add_option("--seed", arguments->request.options.seed, "seed of the data and of its pieces")
      ->capture_default_str();
  app->add_option("--jobs", arguments->jobs, "sample calls judged side by side; changes no result")
      ->default_str("all cores")
      ->check(CLI::Range(std::int64_t(1), std::int64_t(1024)));
  app->add_flag("--claimed-only", arguments->claimed_only, "don't look for rules that are missing");
  arguments->output.add_to(*app);
  app->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace simmesh
