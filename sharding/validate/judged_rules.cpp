#include "sharding/validate/judged_rules.h"

#include <fmt/format.h>

namespace simmesh {

namespace {

std::string op_text(const JsonValue& value, std::string_view key) {
  const JsonValue* entry = value.find(key);
  const auto* text = entry == nullptr ? nullptr : entry->get<std::string>();
  return text == nullptr ? std::string() : *text;
}

// Returns the list under a key of a block, which op_block wrote.
const JsonValue::List& op_list_of(const JsonValue& value, std::string_view key) {
  return *value.find(key)->get<JsonValue::List>();
}

}  // namespace

std::vector<JudgedCheck> judged_rules(const ReportBlock& block) {
  JsonValue op = JsonValue::parse(block.json, "sharding/validate");
  std::string name = op_text(op, "op");
  std::string reproduce = finding_from_report("", block.text).reproduce;
  std::vector<JudgedCheck> checks;
  for (const JsonValue& call : op_list_of(op, "calls"))
    for (const char* rules : {"rules", "wrong_over_two_dims"})
      for (const JsonValue& rule : op_list_of(call, rules)) {
        JudgedCheck check{
            .suite = name,
            .name = fmt::format("{}: {}", op_text(call, "call"), op_text(rule, "rule"))};
        if (const JsonValue* wrong = rule.find("wrong")) {
          std::string what = op_text(*wrong, "what");
          CheckFinding finding = finding_from_report("validate/rule", what);
          finding.message = fmt::format("{}: {}", check.name, finding.message);
          finding.details = fmt::format("on a mesh {} with {}: {}", op_text(*wrong, "mesh"),
                                        op_text(*wrong, "inputs"), what);
          finding.reproduce = reproduce;
          check.finding = std::move(finding);
        }
        checks.push_back(std::move(check));
      }
  return checks;
}

}  // namespace simmesh
