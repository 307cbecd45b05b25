#include "replay/trace/finding.h"

#include <algorithm>
#include <fmt/format.h>

namespace simmesh::replay {

std::string_view to_string(Severity severity) {
  constexpr std::string_view words[] = {"note", "warning", "error"};
  return words[std::size_t(severity)];
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
  Severity worst = Severity::note;
  for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
  return worst == Severity::note ? "ok" : to_string(worst);
}

}  // namespace simmesh::replay
