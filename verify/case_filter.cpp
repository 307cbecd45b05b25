#include "verify/case_filter.h"

#include <algorithm>
#include <charconv>

#include "core/check/error.h"
#include "verify/json_text.h"

namespace simmesh {

using nlohmann::json;

namespace {

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

const json* entry_of(const json& value, const std::string& name) {
  if (value.is_object()) {
    auto found = value.find(name);
    return found == value.end() ? nullptr : &*found;
  }
  std::size_t index = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (!value.is_array() || error != std::errc() || end != name.data() + name.size() ||
      index >= value.size())
    return nullptr;
  return &value[index];
}

bool holds(const CaseFilter::Condition& condition, const RecordedCase& recorded) {
  CaseField root = recorded.root();
  const json* value = &root.value();
  std::string_view path = condition.path;
  while (value != nullptr && !path.empty()) {
    std::size_t dot = std::min(path.find('.'), path.size());
    value = entry_of(*value, std::string(path.substr(0, dot)));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return value != nullptr && *value == condition.value;
}

}  // namespace

std::vector<std::string> CaseFilter::split(std::string_view list) {
  std::vector<std::string> parts;
  for (bool more = true; more;) {
    std::size_t comma = list.find(',');
    more = comma != list.npos;
    parts.emplace_back(list.substr(0, comma));
    if (parts.back().empty())
      raise(ErrorKind::value_error, "verify", "expected KIND[,KIND...], got '{}'", list);
    if (more) list.remove_prefix(comma + 1);
  }
  return parts;
}

CaseFilter::Condition CaseFilter::parse_where(std::string_view text) {
  std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0)
    raise(ErrorKind::value_error, "verify", "expected --where FIELD=JSON, got '{}'", text);
  std::string_view value = text.substr(equals + 1);
  if (JsonScan scan = scan_json(value); !scan.ok)
    raise(ErrorKind::value_error, "verify",
          "expected --where FIELD=JSON (strings in double quotes), got '{}' with {}", text,
          scan.fault);
  return {std::string(text.substr(0, equals)), parse_json(value)};
}

bool CaseFilter::matches(const RecordedCase& recorded) const {
  if (!kinds.empty() && !contains(kinds, recorded.kind())) return false;
  if (contains(excluded_kinds, recorded.kind())) return false;
  if (!id.empty() && !glob_matches(id, recorded.id())) return false;
  return std::all_of(where.begin(), where.end(),
                     [&](const Condition& condition) { return holds(condition, recorded); });
}

bool glob_matches(std::string_view pattern, std::string_view text) {
  // Only one star is remembered: where the rest fails, the last star takes one more byte. So the
  // time is at most the product of the lengths.
  std::size_t at = 0, read = 0;
  std::size_t star = pattern.npos, star_read = 0;
  while (read < text.size()) {
    bool escaped = at + 1 < pattern.size() && pattern[at] == '\\';
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_read = read;
    } else if (escaped ? pattern[at + 1] == text[read]
                       : at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[read])) {
      at += escaped ? 2 : 1;
      ++read;
    } else if (star != pattern.npos) {
      at = star + 1;
      read = ++star_read;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

std::string glob_literal(std::string_view text) {
  std::string pattern;
  for (char letter : text) {
    if (letter == '*' || letter == '?' || letter == '\\') pattern += '\\';
    pattern += letter;
  }
  return pattern;
}

}  // namespace simmesh
