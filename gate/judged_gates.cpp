#include "gate/judged_gates.h"

#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/read_file.h"
#include "gate/tables/keys.h"

namespace simmesh {

namespace {

constexpr std::string_view judged_place = "gate/judged";

std::string text_under(const JsonValue& value, std::string_view key) {
  const JsonValue* entry = value.find(key);
  const auto* text = entry == nullptr ? nullptr : entry->get<std::string>();
  return text == nullptr ? std::string() : *text;
}

// Gives the first check that failed the report of the run. A run that didn't return failed by what
// the report says.
void explain_failure(CheckFinding& finding, const std::string& check, const std::string& failure) {
  if (failure.empty()) return;
  CheckFinding reported = finding_from_report("", failure);
  finding.details = failure;
  finding.rank = reported.rank;
  if (check == "run" && !reported.rule.empty()) finding.rule = reported.rule;
}

CheckFinding finding_of(const JsonValue& check, const std::string& file) {
  std::string name = text_under(check, "name");
  CheckFinding finding{.rule = fmt::format("gate/{}", name.substr(0, name.find(' '))),
                       .message = {},
                       .file = file,
                       .line = line_of_check(file, name),
                       .expected = text_under(check, "expected"),
                       .got = text_under(check, "got")};
  finding.message = fmt::format("{}: expected {}, got {}", name, finding.expected, finding.got);
  return finding;
}

}  // namespace

std::optional<std::int64_t> line_of_check(const std::string& file, std::string_view check) {
  std::string_view key = check.substr(0, check.find(' '));
  try {
    std::string text = read_file({.where = judged_place,
                                  .what = "a gate file",
                                  .path = file,
                                  .bytes_max = std::size_t(1) << 20});
    toml::table gate = parse_toml(text, file);
    for (const char* table : {"expect", "faults"})
      if (const toml::node* node = gate[table][key].node())
        return std::int64_t(node->source().begin.line);
  } catch (const Error&) {
    // A file that is no longer there has no line.
  }
  return {};
}

std::vector<JudgedCheck> judged_checks(const ReportBlock& gate) {
  JsonValue result = JsonValue::parse(gate.json, judged_place);
  std::string file = text_under(result, "file");
  std::string failure = text_under(result, "failure");
  std::vector<JudgedCheck> checks;
  const JsonValue* list = result.find("checks");
  for (const JsonValue& each : *list->get<JsonValue::List>()) {
    JudgedCheck check{.suite = file, .name = text_under(each, "name")};
    if (!*each.find("passed")->get<bool>()) {
      check.finding = finding_of(each, file);
      explain_failure(*check.finding, check.name, std::exchange(failure, {}));
      check.finding->reproduce = text_under(result, "reproduce");
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace simmesh
