#include "replay/trace/finding.h"

#include <algorithm>
#include <fmt/format.h>

namespace simmesh::replay {

std::string_view to_string(Severity severity) {
  return severity == Severity::error ? "error" : "warning";
}

std::string to_string(const Finding& finding) {
  std::string place;
  if (finding.rank) place += fmt::format(" rank {}", *finding.rank);
  if (finding.node) place += fmt::format(" node {}", *finding.node);
  if (!finding.field.empty()) place += fmt::format(" {}", finding.field);
  if (!place.empty()) place += ':';
  return fmt::format("{} {}:{} {}", to_string(finding.severity), finding.rule, place,
                     finding.message);
}

std::string_view worst(const Findings& findings) {
  if (findings.empty()) return "ok";
  bool has_error = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.severity == Severity::error;
  });
  return has_error ? "error" : "warning";
}

}  // namespace simmesh::replay
