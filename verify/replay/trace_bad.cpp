#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>

#include "replay/validate/validate_job.h"
#include "verify/case_kind.h"
#include "verify/replay/case_trace.h"

namespace simmesh {

namespace {

Schema trace_bad_schema() {
  using namespace schema;
  Fields fields = trace_file_fields();
  fields.push_back(expected("verdict", word({"error", "warning", "ok"})));
  fields.push_back(expected("rule", text())
                       .or_absent("any finding that names all of must_name is one")
                       .because("a rule of another name asks for any finding"));
  fields.push_back(expected("must_name", list(either({integer(), text()})))
                       .because("names are in no order, and fewer or shorter ones ask for less"));
  fields.push_back(label("note", text()));
  return object(fields);
}

// A number must be a whole word: 4 isn't in "14".
bool names(const std::string& text, const std::string& wanted, bool is_number) {
  auto is_digit = [&](std::size_t place) {
    return place < text.size() && std::isdigit(static_cast<unsigned char>(text[place])) != 0;
  };
  for (std::size_t at = text.find(wanted); at != std::string::npos;
       at = text.find(wanted, at + 1)) {
    bool stands_apart = (at == 0 || !is_digit(at - 1)) && !is_digit(at + wanted.size());
    if (!is_number || stands_apart) return true;
  }
  return false;
}

bool names_all(const replay::Finding& finding, const RecordedCase& recorded) {
  std::string text = replay::to_string(finding);
  for (const CaseField& item : recorded["must_name"].items()) {
    bool is_number = item.value().is_number_integer();
    if (!names(text, is_number ? fmt::format("{}", item.integer()) : item.text(), is_number))
      return false;
  }
  return true;
}

// A sound trace must have neither errors nor warnings; for others a finding of the verdict must
// contain everything that must be named. Where a finding is of the case's rule, that is the one;
// a rule of another name, or none, asks for any.
void verify_trace_bad(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  replay::TraceJob job = replay::read_job(case_trace_paths(recorded));
  replay::Findings findings = replay::validate(job);
  std::string verdict = recorded["verdict"].text(), rule;
  if (auto field = recorded.find("rule")) rule = field->text();
  std::string all;
  for (const replay::Finding& finding : findings) all += replay::to_string(finding) + "; ";
  if (verdict != replay::worst(findings))
    return report.mismatch(fmt::format("verdict: expected {}, got {} from: {}", verdict,
                                       replay::worst(findings), all));
  if (verdict == "ok") return;
  bool has_rule = std::any_of(findings.begin(), findings.end(),
                              [&](const auto& finding) { return finding.rule == rule; });
  if (!has_rule && recorded["must_name"].size() == 0)
    return report.mismatch(
        fmt::format("expected a finding of the rule '{}', or names in must_name", rule));
  bool is_found = std::any_of(findings.begin(), findings.end(), [&](const auto& finding) {
    return (!has_rule || finding.rule == rule) && replay::to_string(finding.severity) == verdict &&
           names_all(finding, recorded);
  });
  if (!is_found)
    report.mismatch(fmt::format("expected a finding{} that names all of must_name, got: {}",
                                has_rule ? fmt::format(" '{}'", rule) : "", all));
}

const CaseKind trace_bad_kind(
    {.name = "trace_bad",
     .summary = "what the validator says about traces, most of them broken",
     .schema = trace_bad_schema,
     .verifier = verify_trace_bad});

}  // namespace

}  // namespace simmesh
