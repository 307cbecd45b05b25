#include <fmt/format.h>
#include <map>

#include "core/check/bits_hash.h"
#include "core/check/repro.h"
#include "core/findings/judged_checks.h"

namespace simmesh {

namespace {

bool is_plain_in_uri(char letter) {
  bool is_alphanumeric = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                         (letter >= '0' && letter <= '9');
  return is_alphanumeric || std::string_view("-._~/").find(letter) != std::string_view::npos;
}

// Returns a path as a URI: relative to the folder of the run, or of scheme file.
std::string uri_of(const std::string& path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (char letter : path.starts_with("./") ? path.substr(2) : path)
    if (is_plain_in_uri(letter))
      uri += letter;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  return uri;
}

// Names a finding over runs: the line may move, and figures may change.
std::string fingerprint_of(const JudgedCheck& check) {
  std::string text = fmt::format("{}\n{}\n{}", check.finding->rule, check.suite, check.name);
  return fmt::format("{:016x}",
                     bits_hash({reinterpret_cast<const std::byte*>(text.data()), text.size()}));
}

// Returns the message and the lines that a person wants beside it.
std::string words_of(const CheckFinding& finding) {
  std::string text = finding.details.empty() ? finding.message : finding.details;
  if (!finding.details.empty() && !finding.details.starts_with(finding.message))
    text = fmt::format("{}\n{}", finding.message, finding.details);
  if (!finding.reproduce.empty() && text.find(finding.reproduce) == text.npos)
    text += fmt::format("\nreproduce: {}", finding.reproduce);
  return text;
}

JsonValue properties_of(const JudgedCheck& check) {
  const CheckFinding& finding = *check.finding;
  JsonValue properties = JsonValue::object({{"suite", check.suite}, {"check", check.name}});
  if (finding.rank) properties.set("rank", *finding.rank);
  if (!finding.expected.empty()) properties.set("expected", finding.expected);
  if (!finding.got.empty()) properties.set("got", finding.got);
  if (!finding.reproduce.empty()) properties.set("reproduce", finding.reproduce);
  return properties;
}

JsonValue location_of(const CheckFinding& finding) {
  JsonValue place =
      JsonValue::object({{"artifactLocation", JsonValue::object({{"uri", uri_of(finding.file)}})}});
  if (finding.line && *finding.line > 0)
    place.set("region", JsonValue::object({{"startLine", *finding.line}}));
  return JsonValue::object({{"physicalLocation", std::move(place)}});
}

}  // namespace

std::string to_sarif(gsl::span<const JudgedCheck> checks) {
  std::map<std::string, std::int64_t> known;
  JsonValue::List rules, results;
  for (const JudgedCheck& check : checks) {
    if (!check.finding) continue;
    const CheckFinding& finding = *check.finding;
    auto [rule, is_new] = known.try_emplace(finding.rule, std::int64_t(known.size()));
    if (is_new) rules.push_back(JsonValue::object({{"id", finding.rule}}));
    JsonValue result = JsonValue::object(
        {{"ruleId", finding.rule},
         {"ruleIndex", rule->second},
         {"level", "error"},
         {"message", JsonValue::object({{"text", words_of(finding)}})},
         {"partialFingerprints", JsonValue::object({{"check/v1", fingerprint_of(check)}})},
         {"properties", properties_of(check)}});
    if (!finding.file.empty()) result.set("locations", JsonValue::List{location_of(finding)});
    results.push_back(std::move(result));
  }
  JsonValue driver = JsonValue::object(
      {{"name", "simmesh"}, {"semanticVersion", version()}, {"rules", std::move(rules)}});
  JsonValue run = JsonValue::object({{"tool", JsonValue::object({{"driver", std::move(driver)}})},
                                     {"results", std::move(results)}});
  JsonValue log = JsonValue::object({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                                     {"version", "2.1.0"},
                                     {"runs", JsonValue::List{std::move(run)}}});
  return log.text_utf8() + "\n";
}

}  // namespace simmesh
