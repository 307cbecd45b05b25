#include "verify/pytorch/ops/judged_tables.h"

#include <fmt/format.h>

namespace simmesh {

std::vector<JudgedCheck> judged_checks(const RuleFilesResult& result,
                                       const RuleFilesRequest& request) {
  std::vector<JudgedCheck> checks;
  for (const RuleTableVerdict& table : result.tables) {
    if (table.refuted.empty()) checks.push_back({.suite = table.id, .name = table.function});
    for (const RuleTableVerdict::Refuted& one : table.refuted) {
      CheckFinding finding = finding_from_report("validate/rule", one.what);
      finding.message =
          fmt::format("{} {} ({}): {}", table.function, one.rule, one.inputs, finding.message);
      finding.reproduce = reproduce_command(request);
      checks.push_back(
          {table.id, fmt::format("{} {}", table.function, one.rule), std::move(finding)});
    }
  }
  return checks;
}

}  // namespace simmesh
