#include "gate/explore/judged_explorations.h"

#include <fmt/format.h>
#include <utility>

#include "gate/judged_gates.h"

namespace simmesh {

namespace {

// Returns the one check of a gate that was explored.
JudgedCheck explored(const std::string& file, const std::string& failure, const std::string& report,
                     const std::string& reproduce) {
  JudgedCheck check{.suite = file, .name = "schedules"};
  if (failure.empty()) return check;
  std::string text = report.empty() ? failure : fmt::format("{}\n{}", failure, report);
  CheckFinding finding = finding_from_report("gate/schedules", text);
  if (!report.empty())
    if (CheckFinding of_run = finding_from_report("", report); !of_run.rule.empty())
      finding.rule = of_run.rule;
  finding.file = file;
  finding.line = line_of_check(file, "schedules");
  if (!reproduce.empty()) finding.reproduce = reproduce;
  check.finding = std::move(finding);
  return check;
}

}  // namespace

std::vector<JudgedCheck> judged_checks(const GateExploration& found, const std::string& reproduce) {
  return {explored(found.file, found.failure, found.report, reproduce)};
}

std::vector<JudgedCheck> judged_checks(const GatesExploration& found) {
  std::vector<JudgedCheck> checks;
  for (const GatesExploration::Gate& gate : found.gates)
    checks.push_back(explored(gate.file, gate.failure, gate.report, gate.reproduce));
  return checks;
}

std::vector<JudgedCheck> judged_checks(const FaultSwarm& found) {
  return {explored(found.file, found.failure, found.report, "")};
}

}  // namespace simmesh
