#include "verify/falsify/case_changes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace simmesh {

namespace {

using nlohmann::json;
using Type = SchemaNode::Type;

constexpr std::string_view of_an_input = "another input, with the same results";

// Changes the first character, which can have several bytes.
std::string other_text(const std::string& text) {
  if (text.empty()) return "other";
  std::size_t rest = 1;
  while (rest < text.size() && (std::uint8_t(text[rest]) & 0xc0) == 0x80) ++rest;
  return (text[0] == '0' ? '1' : '0') + text.substr(rest);
}

// Returns another placement than the given one where the text is spelled as one.
std::string other_spelling(const std::string& text, const SchemaNode& schema) {
  for (const char* word : {"R", "S(0)", "P(sum)"}) {
    if (text == word) continue;
    try {
      if (schema.parse(word)) return word;
    } catch (const Error&) {
      continue;
    }
  }
  return other_text(text);
}

// Returns another value of the schema's type; nothing where there is none.
std::optional<json> other_value(const json& value, const SchemaNode& schema) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) {
    bool is_last = schema.type == Type::integer && value.is_number_integer() &&
                   value.get<std::int64_t>() == schema.range.max;
    return value.get<std::int64_t>() + (is_last ? -1 : 1);
  }
  if (value.is_number()) return 2 * value.get<double>() + 1000;
  if (!value.is_string()) return std::nullopt;
  std::string text = value;
  if (schema.type == Type::word) {
    for (const std::string& word : schema.words)
      if (word != text) return word;
    return std::nullopt;
  }
  if (schema.type == Type::figure) return 1.5;
  if (schema.type == Type::spelled) return other_spelling(text, schema);
  return other_text(text);
}

// Returns a value of another type: an object that no schema has, or a text for an object.
json other_type(const json& value) {
  return value.is_object() ? json("nonsense") : json{{"nonsense", 1}};
}

// Collector makes the changes of one case.
class Collector {
 public:
  void visit(const Spot& spot) {
    if (spot.schema->type == Type::any) {
      // Contents for a parser of their own have any type, and are changed as a whole.
      if (!spot.at.empty())
        add(spot, "another type", other_type(spot.value.value()), excuse_of(spot));
      return;
    }
    std::string_view excuse = excuse_of(spot);
    const json& value = spot.value.value();
    if (is_field(spot)) remove(spot);
    if (value.is_object()) change_object(spot);
    if (value.is_array()) change_list(spot, excuse);
    if (!value.is_structured())
      if (auto other = other_value(value, *spot.schema))
        add(spot, "another value", std::move(*other), excuse);
    if (!spot.at.empty()) add(spot, "another type", other_type(value));
  }

  std::vector<CaseChange> take() { return std::move(changes_); }

 private:
  static std::string_view excuse_of(const Spot& spot) {
    if (!spot.why_idle.empty()) return spot.why_idle;
    return spot.is_result ? std::string_view() : of_an_input;
  }

  // True for a list of tensors or values of a checkpoint.
  static bool are_found_by_name(const SchemaNode& list) {
    if (list.type != Type::list) return false;
    const SchemaNode& entry = list.parts[0]->resolved();
    return entry.type == Type::object && !entry.fields.empty() && entry.fields[0].name == "fqn";
  }

  static bool is_field(const Spot& spot) {
    return !spot.at.empty() && spot.at.back().find_first_not_of("0123456789") != std::string::npos;
  }

  void add(const Spot& spot, const char* name, json value, std::string_view excuse = {}) {
    changes_.push_back(
        {.at = spot.at, .name = name, .patched = std::move(value), .excuse = excuse});
  }

  void remove(const Spot& spot) {
    std::string_view excuse = spot.why_absent;
    if (excuse.empty() && (spot.is_optional || spot.is_free)) excuse = excuse_of(spot);
    changes_.push_back({.at = spot.at, .name = "left out", .is_removal = true, .excuse = excuse});
  }

  void change_object(const Spot& spot) {
    json value = spot.value.value();
    value["nonsense"] = 1;
    // A map has fields of any names.
    add(spot, "a field that nobody knows", std::move(value),
        spot.schema->type == Type::map ? excuse_of(spot) : std::string_view());
  }

  void change_list(const Spot& spot, std::string_view excuse) {
    const json& value = spot.value.value();
    if (value.empty()) return;
    json shorter = value, longer = value;
    shorter.erase(shorter.size() - 1);
    longer.push_back(longer.back());
    add(spot, "an entry less", std::move(shorter), excuse.empty() ? spot.why_fewer : excuse);
    add(spot, "an entry twice", std::move(longer), excuse);
    for (std::size_t i = 1; i < value.size(); ++i) {
      if (value[i] == value[0]) continue;
      json swapped = value;
      std::swap(swapped[0], swapped[i]);
      bool is_named = are_found_by_name(*spot.schema);
      return add(spot, "two entries swapped", std::move(swapped),
                 is_named ? std::string_view("entries are found by name") : excuse);
    }
  }

  std::vector<CaseChange> changes_;
};

// The generator of splitmix64.
std::uint64_t next_word(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15u;
  std::uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

json CaseChange::apply(json value) const {
  if (is_removal)
    value[at.parent_pointer()].erase(at.back());
  else
    value[at] = patched;
  return value;
}

std::vector<CaseChange> case_changes(const RecordedCase& recorded, const SchemaNode& schema) {
  Collector collector;
  for_each_spot(whole_case(recorded, schema), [&](const Spot& spot) { collector.visit(spot); });
  std::vector<CaseChange> changes = collector.take();
  // Without its kind or its id a case isn't one; with another kind it is another.
  std::erase_if(changes, [](const CaseChange& change) {
    std::string at = change.at.to_string();
    return at == "/kind" || at == "/id";
  });
  return changes;
}

std::vector<CaseChange> sample_changes(std::vector<CaseChange> changes, const ChangeSample& sample,
                                       std::uint64_t seed) {
  if (changes.size() <= sample.count && changes.size() <= sample.per_field) return changes;
  struct Drawn {
    std::size_t turn;  // how many changes of this name and pattern are drawn before
    std::uint64_t word;
    std::size_t index;
  };
  std::vector<Drawn> drawn;
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < changes.size(); ++i) drawn.push_back({0, next_word(state), i});
  std::sort(drawn.begin(), drawn.end(),
            [](const Drawn& a, const Drawn& b) { return a.word < b.word; });
  std::map<std::string, std::size_t> turns;
  for (Drawn& one : drawn) {
    const CaseChange& change = changes[one.index];
    one.turn = turns[change.name + path_pattern(change.at)]++;
  }
  std::erase_if(drawn, [&](const Drawn& one) { return one.turn >= sample.per_field; });
  std::stable_sort(drawn.begin(), drawn.end(),
                   [](const Drawn& a, const Drawn& b) { return a.turn < b.turn; });
  drawn.resize(std::min(drawn.size(), sample.count));
  std::sort(drawn.begin(), drawn.end(),
            [](const Drawn& a, const Drawn& b) { return a.index < b.index; });
  std::vector<CaseChange> chosen;
  for (const Drawn& one : drawn) chosen.push_back(std::move(changes[one.index]));
  return chosen;
}

std::string path_pattern(const json::json_pointer& at) {
  std::string text;
  for (json::json_pointer rest = at; !rest.empty(); rest = rest.parent_pointer()) {
    bool is_index = rest.back().find_first_not_of("0123456789") == std::string::npos;
    text.insert(0, is_index ? std::string("[]") : rest.back()).insert(0, 1, '/');
  }
  return text.empty() ? "/" : text;
}

}  // namespace simmesh
