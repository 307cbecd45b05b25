#include "verify/verdict/judged_case.h"

#include <fmt/format.h>

#include "core/check/join_text.h"

namespace simmesh {

JudgedCheck judged_check(const CaseResult& result) {
  JudgedCheck check{.suite = result.kind, .name = result.id};
  if (!result.failed()) return check;
  CheckFinding finding = finding_from_report(fmt::format("verify/{}", result.kind),
                                             join_text(result.mismatches, "\n"));
  finding.file = result.place.file;
  finding.line = result.place.line;
  finding.reproduce = result.reproduce;
  check.finding = std::move(finding);
  return check;
}

}  // namespace simmesh
