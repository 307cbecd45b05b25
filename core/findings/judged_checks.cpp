#include "core/findings/judged_checks.h"

#include "core/check/error.h"
#include "core/check/write_file.h"

namespace simmesh {

namespace {

using FindingsFormat = std::string (*)(gsl::span<const JudgedCheck>);

FindingsFormat format_of(const std::string& path) {
  if (path.ends_with(".jsonl")) return to_json_lines;
  if (path.ends_with(".sarif")) return to_sarif;
  if (path.ends_with(".xml")) return to_junit;
  raise(ErrorKind::value_error, "core/findings",
        "expected a file for findings that ends in .jsonl (lines of JSON), .sarif (SARIF) or .xml "
        "(JUnit), got '{}'",
        path);
}

JudgedCheck judged_check_from(const JsonValue& value) {
  const JsonValue* suite = value.find("suite");
  const JsonValue* name = value.find("name");
  const JsonValue* finding = value.find("finding");
  bool has_names = suite != nullptr && suite->get<std::string>() != nullptr && name != nullptr &&
                   name->get<std::string>() != nullptr;
  if (!has_names)
    raise(ErrorKind::value_error, "core/findings", "expected a check with suite and name, got {}",
          value.text(200));
  JudgedCheck check{.suite = *suite->get<std::string>(), .name = *name->get<std::string>()};
  if (finding != nullptr && !finding->is_null()) check.finding = check_finding_from(*finding);
  return check;
}

}  // namespace

std::string to_json_lines(gsl::span<const JudgedCheck> checks) {
  std::string lines;
  for (const JudgedCheck& check : checks)
    if (check.finding) lines += to_json(*check.finding).text_utf8() + "\n";
  return lines;
}

std::vector<JudgedCheck> judged_checks_from(std::string_view json) {
  JsonValue value = JsonValue::parse(json, "core/findings");
  const auto* list = value.get<JsonValue::List>();
  if (list == nullptr)
    raise(ErrorKind::value_error, "core/findings", "expected a list of checks, got {}",
          value.text(200));
  std::vector<JudgedCheck> checks;
  for (const JsonValue& each : *list) checks.push_back(judged_check_from(each));
  return checks;
}

void expect_findings_file(const std::string& path) {
  format_of(path);
  expect_writable(path, "the findings");
}

void write_findings(const std::string& path, gsl::span<const JudgedCheck> checks) {
  write_file(path, format_of(path)(checks), "the findings");
}

}  // namespace simmesh
