#include "verify/pytorch/ops/rule_files.h"

#include <fmt/format.h>

#include "core/check/append_text.h"
#include "core/check/shell_word.h"
#include "core/engine/ordered_jobs.h"
#include "verify/case_files.h"

namespace simmesh {

std::uint64_t RuleFilesResult::rule_count() const {
  std::uint64_t count = 0;
  for (const RuleTableVerdict& table : tables) count += table.rule_count;
  return count;
}

std::uint64_t RuleFilesResult::refuted_count() const {
  std::uint64_t count = 0;
  for (const RuleTableVerdict& table : tables) count += table.refuted.size();
  return count;
}

std::uint64_t RuleFilesResult::beyond_count() const {
  std::uint64_t count = 0;
  for (const RuleTableVerdict& table : tables) count += table.beyond.size();
  return count;
}

RuleFilesResult judge_rule_files(const RuleFilesRequest& request) {
  std::vector<RuleTable> tables;
  for (const RecordedCase& recorded : load_cases(request.paths, [](const RecordedCase& one) {
                                        return one.kind() == "rules";
                                      }).cases)
    tables.push_back(read_rule_table(recorded));
  if (tables.empty())
    raise(ErrorKind::value_error, "verify/rules", "expected cases of kind rules, got none");
  RuleFilesResult result;
  auto goes_on = [&] {
    bool goes = !request.goes_on || request.goes_on({"tables", result.tables.size(), tables.size(),
                                                     result.refuted_count()});
    result.interrupted = !goes;
    return goes;
  };
  auto make_worker = [&] {
    return [&](std::uint64_t i) { return judge_rule_table(tables[i], request.seed); };
  };
  auto take = [&](std::uint64_t, RuleTableVerdict verdict) {
    result.tables.push_back(std::move(verdict));
    return true;
  };
  run_ordered<RuleTableVerdict>(
      {.count = tables.size(), .threads = request.jobs, .goes_on = goes_on}, make_worker, take);
  return result;
}

std::string reproduce_command(const RuleFilesRequest& request) {
  std::string paths;
  for (const std::string& path : request.paths) paths += " --rules " + shell_word(path);
  return fmt::format("simmesh validate{} --seed {}", paths, request.seed);
}

std::string to_text(const RuleFilesResult& result, const RuleFilesRequest& request,
                    const RuleFilesReport& report) {
  std::string text;
  auto line = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    append_text(text, format, std::forward<Args>(args)...);
    text += '\n';
  };
  for (const RuleTableVerdict& table : result.tables) {
    if (report.quiet) break;
    line("{} {} {}: {} of {} rules confirmed in {} trials", table.refuted.empty() ? "pass" : "FAIL",
         table.id, table.function, table.rule_count - table.refuted.size(), table.rule_count,
         table.trials);
    for (const auto& one : table.refuted)
      line("  wrong {} ({}): {}", one.rule, one.inputs, one.what);
    if (report.shows_beyond)
      for (const std::string& rule : table.beyond) line("  beyond {}", rule);
  }
  if (!result.ok() && !report.quiet) line("reproduce: {}", reproduce_command(request));
  if (report.shows_beyond && !report.quiet)
    line("{} rules of ours hold that the tables lack", result.beyond_count());
  line("{} rules, {} wrong, 0 missing", result.rule_count(), result.refuted_count());
  return text;
}

}  // namespace simmesh
