#include "gate/compose/judged_layouts.h"

#include <fmt/format.h>

#include "core/check/shell_word.h"

namespace simmesh {

namespace {

CheckFinding layout_finding(const LayoutResult& result, const std::string& file) {
  CheckFinding finding;
  if (result.failure.empty()) {
    const Difference& difference = *result.difference;
    finding.rule = "compose/same_as_one_device";
    finding.message = fmt::format("{}: {}: expected {}, got {}", result.name, difference.where,
                                  difference.expected, difference.actual);
    finding.expected = difference.expected;
    finding.got = difference.actual;
    finding.rank = result.rank;
  } else {
    finding = finding_from_report("compose/run", result.failure);
  }
  finding.file = file;
  finding.line.reset();
  if (result.smallest != result.name)
    finding.details = fmt::format("fails as the smaller layout {} does", result.smallest);
  else if (!result.first.empty())
    finding.details = fmt::format("first: {}", result.first);
  finding.reproduce = fmt::format("simmesh compose {} --ranks {} --layout {}", shell_word(file),
                                  result.ranks, shell_word(result.name));
  return finding;
}

}  // namespace

std::vector<JudgedCheck> judged_checks(const Composition& found) {
  std::vector<JudgedCheck> checks;
  for (const LayoutResult& result : found.layouts) {
    JudgedCheck check{.suite = found.file, .name = result.name};
    if (!result.passed()) check.finding = layout_finding(result, found.file);
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace simmesh
