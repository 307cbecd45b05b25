#include "core/page/page_difference.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <vector>

namespace simmesh {

namespace {

using Found = std::optional<PageDifference>;
const JsonValue nothing_there;

const JsonValue& member_of(const JsonValue& value, std::string_view key) {
  if (!value.get<JsonValue::Object>()) return nothing_there;
  const JsonValue* found = value.find(key);
  return found ? *found : nothing_there;
}

const JsonValue::List& list_of(const JsonValue& value) {
  static const JsonValue::List none;
  const auto* list = value.get<JsonValue::List>();
  return list ? *list : none;
}

std::string words_of(const JsonValue& value) {
  constexpr std::size_t shown_max = 200;
  if (value.is_null()) return "nothing";
  const std::string* text = value.get<std::string>();
  std::string words = text ? *text : value.text_utf8();
  return words.size() > shown_max ? words.substr(0, shown_max) + "..." : words;
}

std::string text_of(const JsonValue& value) {
  const std::string* text = value.get<std::string>();
  return text ? *text : "";
}

// Returns the name of an entry of a list: its own, or that of its first cell, or its number.
std::string name_in_list(const JsonValue& value, std::size_t number) {
  for (const char* key : {"name", "title"})
    if (std::string name = text_of(member_of(value, key)); !name.empty()) return name;
  const JsonValue::List& cells = list_of(value);
  if (!cells.empty() && cells[0].get<std::string>()) return text_of(cells[0]);
  return std::to_string(number + 1);
}

Found difference(const std::string& where, const JsonValue& a, const JsonValue& b);

Found difference_of_lists(const std::string& where, const JsonValue::List& a,
                          const JsonValue::List& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const JsonValue& one = i < a.size() ? a[i] : nothing_there;
    const JsonValue& other = i < b.size() ? b[i] : nothing_there;
    std::string name = name_in_list(one.is_null() ? other : one, i);
    if (Found found = difference(fmt::format("{}, {}", where, name), one, other)) return found;
  }
  return {};
}

Found difference_of_objects(const std::string& where, const JsonValue& a, const JsonValue& b) {
  for (const JsonValue* each : {&a, &b})
    for (const auto& [key, value] : *each->get<JsonValue::Object>())
      if (Found found =
              difference(fmt::format("{}, {}", where, key), member_of(a, key), member_of(b, key)))
        return found;
  return {};
}

Found difference(const std::string& where, const JsonValue& a, const JsonValue& b) {
  if (a.get<JsonValue::List>() && b.get<JsonValue::List>())
    return difference_of_lists(where, list_of(a), list_of(b));
  if (a.get<JsonValue::Object>() && b.get<JsonValue::Object>())
    return difference_of_objects(where, a, b);
  if (a.text_utf8() == b.text_utf8()) return {};
  return PageDifference{where, words_of(a), words_of(b)};
}

// Operation is a span of a timeline with its words.
struct Operation {
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::string label;

  bool operator==(const Operation&) const = default;
};

std::string words_of(const Operation& operation, const std::string& unit) {
  double ticks = unit == "us" ? 1000 : 1;
  return fmt::format("{}, from {} for {} {}", operation.label, double(operation.begin) / ticks,
                     double(operation.length) / ticks, unit);
}

std::int64_t number_of(const JsonValue& value) {
  const std::int64_t* number = value.get<std::int64_t>();
  return number ? *number : 0;
}

// DecodedTimeline is the timeline of a report, as TimelineSection wrote it.
class DecodedTimeline {
 public:
  explicit DecodedTimeline(const JsonValue& section) : section_(section) {
    for (const JsonValue& track : list_of(member_of(section, "tracks"))) {
      std::string name = text_of(member_of(track, "name"));
      tracks_[{number_of(member_of(track, "rank")), name}] = &track;
      names_.emplace_back(number_of(member_of(track, "rank")), name);
    }
  }

  using Name = std::pair<std::int64_t, std::string>;
  const std::vector<Name>& names() const { return names_; }
  std::string unit() const { return text_of(member_of(section_, "unit")); }

  std::vector<Operation> operations(const Name& name) const {
    auto track = tracks_.find(name);
    if (track == tracks_.end()) return {};
    const JsonValue::List& shared = list_of(member_of(section_, "spans"));
    const JsonValue::List& labels = list_of(member_of(section_, "labels"));
    auto number = std::size_t(number_of(member_of(*track->second, "spans")));
    std::int64_t at = number_of(member_of(*track->second, "begin"));
    std::vector<Operation> operations;
    if (number >= shared.size()) return operations;
    const JsonValue::List& spans = list_of(shared[number]);
    for (std::size_t i = 0; i + 2 < spans.size(); i += 3) {
      Operation operation{at + number_of(spans[i]), number_of(spans[i + 1]), ""};
      at = operation.begin + operation.length;
      auto label = std::size_t(number_of(spans[i + 2]));
      if (label < labels.size())
        for (const JsonValue& word : list_of(labels[label]))
          operation.label += (operation.label.empty() ? "" : " at ") + text_of(word);
      operations.push_back(std::move(operation));
    }
    return operations;
  }

 private:
  const JsonValue& section_;
  std::map<Name, const JsonValue*> tracks_;
  std::vector<Name> names_;
};

// Returns the difference that comes first in time.
Found difference_of_timelines(const std::string& where, const JsonValue& a, const JsonValue& b) {
  DecodedTimeline first(a), second(b);
  std::vector<DecodedTimeline::Name> names = first.names();
  for (const auto& name : second.names())
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  Found earliest;
  std::int64_t earliest_at = 0;
  for (const auto& name : names) {
    std::vector<Operation> one = first.operations(name), other = second.operations(name);
    auto [at, at_other] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
    if (at == one.end() && at_other == other.end()) continue;
    std::int64_t begin = at == one.end()           ? at_other->begin
                         : at_other == other.end() ? at->begin
                                                   : std::min(at->begin, at_other->begin);
    if (earliest && begin >= earliest_at) continue;
    earliest_at = begin;
    earliest = PageDifference{
        fmt::format("{}, rank {}{}{}, operation {}", where, name.first,
                    name.second.empty() ? "" : " ", name.second, at - one.begin() + 1),
        at == one.end() ? "nothing" : words_of(*at, first.unit()),
        at_other == other.end() ? "nothing" : words_of(*at_other, second.unit())};
  }
  return earliest;
}

const JsonValue& section_like(const JsonValue::List& sections, const JsonValue& section) {
  for (const JsonValue& each : sections)
    if (text_of(member_of(each, "title")) == text_of(member_of(section, "title"))) return each;
  return nothing_there;
}

Found difference_of_entries(const std::string& name, const JsonValue& a, const JsonValue& b) {
  const JsonValue::List& sections = list_of(member_of(a, "sections"));
  const JsonValue::List& others = list_of(member_of(b, "sections"));
  for (const JsonValue& section : sections)
    if (member_of(section, "kind").is_text("timeline"))
      if (Found found = difference_of_timelines(
              fmt::format("{}, {}", name, text_of(member_of(section, "title"))), section,
              section_like(others, section)))
        return found;
  for (const char* key : {"figures", "passed", "title"})
    if (Found found =
            difference(fmt::format("{}, {}", name, key), member_of(a, key), member_of(b, key)))
      return found;
  for (const JsonValue::List* list : {&sections, &others})
    for (const JsonValue& section : *list) {
      if (member_of(section, "kind").is_text("timeline")) continue;
      std::string where = fmt::format("{}, {}", name, text_of(member_of(section, "title")));
      if (Found found =
              difference(where, section_like(sections, section), section_like(others, section)))
        return found;
    }
  return {};
}

const JsonValue& entry_named(const JsonValue& data, const std::string& name) {
  for (const JsonValue& entry : list_of(member_of(data, "entries")))
    if (text_of(member_of(entry, "name")) == name) return entry;
  return nothing_there;
}

}  // namespace

std::optional<PageDifference> first_page_difference(const JsonValue& a, const JsonValue& b) {
  for (const JsonValue* each : {&a, &b})
    for (const JsonValue& entry : list_of(member_of(*each, "entries"))) {
      std::string name = text_of(member_of(entry, "name"));
      const JsonValue &one = entry_named(a, name), &other = entry_named(b, name);
      if (one.is_null() || other.is_null())
        return PageDifference{name, one.is_null() ? "nothing" : "this part",
                              other.is_null() ? "nothing" : "this part"};
      if (Found found = difference_of_entries(name, one, other)) return found;
    }
  return difference("summary", member_of(a, "summary"), member_of(b, "summary"));
}

}  // namespace simmesh
