#pragma once

#include <gsl/span>
#include <optional>
#include <string>
#include <vector>

#include "core/findings/check_finding.h"

namespace simmesh {

// JudgedCheck is a check that was made: the gate, kind of cases or op it belongs to, its name
// there, and the finding if it failed.
struct JudgedCheck {
  std::string suite;
  std::string name;
  std::optional<CheckFinding> finding = {};
};

// These return checks in a format that other programs read.
// to_json_lines: a line of JSON for each finding.
// to_sarif: the findings as a log of SARIF 2.1.0, which code hosts show at their lines.
// to_junit: all checks as JUnit's XML, which CI systems count; a test case for each.
std::string to_json_lines(gsl::span<const JudgedCheck> checks);
std::string to_sarif(gsl::span<const JudgedCheck> checks);
std::string to_junit(gsl::span<const JudgedCheck> checks);

// judged_checks_from reads a list of objects with the keys of JudgedCheck. Raises a ValueError for
// another text.
std::vector<JudgedCheck> judged_checks_from(std::string_view json);

// expect_findings_file raises a ValueError for a file whose name doesn't end in .jsonl, .sarif or
// .xml, and for one that can't be written; write_findings writes checks in the format of the
// ending.
void expect_findings_file(const std::string& path);
void write_findings(const std::string& path, gsl::span<const JudgedCheck> checks);

}  // namespace simmesh
