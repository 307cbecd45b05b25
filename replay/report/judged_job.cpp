#include "replay/report/judged_job.h"

#include <fmt/format.h>

namespace simmesh::replay {

namespace {

constexpr std::string_view suite = "replay";

// Returns the file of a rank's trace; empty for a rank without one.
std::string trace_of(const JobReport& report, const Finding& finding) {
  for (const ReportedTrace& trace : report.traces)
    if (finding.rank == trace.rank) return trace.file;
  return {};
}

JudgedCheck judged(const JobReport& report, const Finding& finding) {
  CheckFinding found{.rule = fmt::format("replay/{}", finding.rule),
                     .message = to_string(finding),
                     .file = trace_of(report, finding),
                     .rank = finding.rank,
                     .reproduce = report.reproduce};
  expected_and_got(found, finding.message);
  return {std::string(suite), found.message, std::move(found)};
}

}  // namespace

std::vector<JudgedCheck> judged_checks(const JobReport& report) {
  std::vector<JudgedCheck> checks;
  for (const JobCheck& check : report.checks) {
    JudgedCheck judged{.suite = std::string(suite), .name = check.name};
    if (!check.has_passed) {
      std::string text = fmt::format("{}: {}", check.name, check.text);
      if (!report.failure.empty()) text += "\n" + report.failure;
      judged.finding = finding_from_report(fmt::format("replay/{}", check.name), text);
      judged.finding->reproduce = report.reproduce;
    }
    checks.push_back(std::move(judged));
  }
  for (const Finding& finding : report.findings)
    if (finding.severity != Severity::note) checks.push_back(judged(report, finding));
  return checks;
}

}  // namespace simmesh::replay
