#include "core/findings/check_finding.h"

#include <array>
#include <charconv>

#include "core/check/error.h"

namespace simmesh {

namespace {

constexpr std::string_view findings_place = "core/findings";

struct TextKey {
  const char* name;
  std::string CheckFinding::*text;
};

constexpr std::array text_keys = {
    TextKey{"expected", &CheckFinding::expected},
    TextKey{"got", &CheckFinding::got},
    TextKey{"reproduce", &CheckFinding::reproduce},
    TextKey{"details", &CheckFinding::details},
};

JsonValue known_text(const std::string& text) { return text.empty() ? JsonValue() : text; }

JsonValue known_number(const std::optional<std::int64_t>& number) {
  return number ? JsonValue(*number) : JsonValue();
}

std::string text_of(const JsonValue& value, std::string_view key) {
  const JsonValue* entry = value.find(key);
  if (entry == nullptr || entry->is_null()) return {};
  if (const auto* text = entry->get<std::string>()) return *text;
  raise(ErrorKind::value_error, findings_place, "{}: expected a text or null, got {}", key,
        entry->text(80));
}

std::optional<std::int64_t> number_of(const JsonValue& value, std::string_view key) {
  const JsonValue* entry = value.find(key);
  if (entry == nullptr || entry->is_null()) return {};
  if (const auto* number = entry->get<std::int64_t>()) return *number;
  raise(ErrorKind::value_error, findings_place, "{}: expected a whole number or null, got {}", key,
        entry->text(80));
}

std::string_view headline_of(std::string_view text) { return text.substr(0, text.find('\n')); }

// Returns the digits at the beginning of a text as a number, if there are some.
std::optional<std::int64_t> leading_number(std::string_view text) {
  std::int64_t number = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.starts_with('-')) return {};
  return number;
}

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

bool ends_a_path(char letter) {
  return std::string_view(" \t\n\"'(),;[]").find(letter) != std::string_view::npos;
}

// Returns the path that ends at a position, if it looks like that of a source: "a/train.py".
std::string_view path_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && !ends_a_path(text[begin - 1])) --begin;
  std::string_view path = text.substr(begin, end - begin);
  std::size_t dot = path.rfind('.');
  if (dot == path.npos || dot == 0 || dot + 1 == path.size() || path.find("://") != path.npos)
    return {};
  for (char letter : path.substr(dot + 1))
    if (!is_letter(letter)) return {};
  return path;
}

// Reads the first "FILE:LINE" of a text.
void set_place(CheckFinding& finding, std::string_view text) {
  for (std::size_t colon = text.find(':'); colon != text.npos; colon = text.find(':', colon + 1)) {
    std::string_view path = path_before(text, colon);
    std::optional<std::int64_t> line = leading_number(text.substr(colon + 1));
    if (path.empty() || !line) continue;
    finding.file = path;
    finding.line = line;
    return;
  }
}

void set_rank(CheckFinding& finding, std::string_view text) {
  constexpr std::string_view mark = "rank ";
  for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1))
    if (auto rank = leading_number(text.substr(at + mark.size()))) {
      finding.rank = rank;
      return;
    }
}

// Returns the text in the brackets with which a message begins: "engine/deadlock".
std::string_view rule_of(std::string_view message) {
  if (!message.starts_with('[')) return {};
  std::string_view rule = message.substr(1, message.find(']') - 1);
  return rule.size() + 2 <= message.size() && rule.find(' ') == rule.npos ? rule
                                                                          : std::string_view();
}

std::string_view reproduction_of(std::string_view report) {
  constexpr std::string_view mark = "reproduce: ";
  for (std::size_t at = report.find(mark); at != report.npos; at = report.find(mark, at + 1))
    if (at == 0 || report[at - 1] == '\n' || report[at - 1] == ' ')
      return headline_of(report.substr(at + mark.size()));
  return {};
}

}  // namespace

JsonValue to_json(const CheckFinding& finding) {
  JsonValue value = JsonValue::object({{"rule", finding.rule},
                                       {"message", finding.message},
                                       {"rank", known_number(finding.rank)},
                                       {"file", known_text(finding.file)},
                                       {"line", known_number(finding.line)}});
  for (const TextKey& key : text_keys) value.set(key.name, known_text(finding.*key.text));
  return value;
}

CheckFinding check_finding_from(const JsonValue& value) {
  CheckFinding finding{.rule = text_of(value, "rule"),
                       .message = text_of(value, "message"),
                       .file = text_of(value, "file"),
                       .line = number_of(value, "line"),
                       .rank = number_of(value, "rank")};
  for (const TextKey& key : text_keys) finding.*key.text = text_of(value, key.name);
  if (finding.rule.empty() || finding.message.empty())
    raise(ErrorKind::value_error, findings_place, "expected a rule and a message, got {}",
          value.text(200));
  return finding;
}

void expected_and_got(CheckFinding& finding, std::string_view line) {
  constexpr std::string_view expected = "expected ", got = ", got ";
  std::size_t begin = line.find(expected);
  if (begin == line.npos) return;
  begin += expected.size();
  std::size_t end = line.find(got, begin);
  if (end == line.npos) return;
  finding.expected = line.substr(begin, end - begin);
  finding.got = line.substr(end + got.size());
}

CheckFinding finding_from_report(std::string rule, std::string_view report) {
  std::string_view message = headline_of(report);
  CheckFinding finding{.rule = std::move(rule), .message = std::string(message), .file = {}};
  if (finding.rule.empty()) finding.rule = rule_of(message);
  set_place(finding, report);
  set_rank(finding, report);
  expected_and_got(finding, message);
  finding.reproduce = reproduction_of(report);
  if (report.size() > message.size()) finding.details = report;
  return finding;
}

}  // namespace simmesh
