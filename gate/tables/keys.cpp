#include "gate/tables/keys.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/check/edit_distance.h"
#include "core/check/join_text.h"

namespace simmesh {

namespace {

constexpr std::size_t list_max = 4096;

// Shortens a value that a person wrote, and puts it on one line.
std::string printable(std::string_view text) {
  constexpr std::size_t shown_max = 60;
  std::string result(text.substr(0, shown_max));
  for (char& letter : result)
    if (letter < ' ' || letter > '~') letter = '?';
  return text.size() > shown_max ? result + "..." : result;
}

std::string shown(const toml::node& node) {
  if (const auto* value = node.as_string()) return fmt::format("\"{}\"", printable(value->get()));
  if (const auto* value = node.as_integer()) return fmt::format("{}", value->get());
  if (const auto* value = node.as_floating_point()) return fmt::format("{}", value->get());
  if (const auto* value = node.as_boolean()) return value->get() ? "true" : "false";
  if (const auto* value = node.as_array()) return fmt::format("a list of {}", value->size());
  if (node.is_table()) return "a table";
  return "a date or time";
}

// True for a string without control characters, since messages print it on one line.
bool is_plain_text(const toml::node& node) {
  if (!node.is_string()) return false;
  for (char letter : node.as_string()->get())
    if (static_cast<unsigned char>(letter) < ' ' || letter == '\x7f') return false;
  return true;
}

// Returns the offset of the first key with too many parts, npos if there is none. Tables of the
// TOML library are made and freed by functions that call themselves for each part.
std::size_t find_deep_key(std::string_view text) {
  constexpr std::size_t parts_max = 100;
  std::size_t dots = 0, begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char letter = text[i];
    if (letter == '"' || letter == '\'') {
      bool is_long = text.substr(i, 3) == std::string(3, letter);
      std::string end(is_long ? 3 : 1, letter);
      for (i += end.size(); i < text.size() && text.substr(i, end.size()) != end; ++i)
        if (letter == '"' && text[i] == '\\') ++i;
      i += end.size() - 1;
    } else if (letter == '#') {
      i = std::min(text.find('\n', i), text.size());
      dots = 0;
    } else if (letter == '.') {
      if (++dots == parts_max) return begin;
    } else if (std::string_view("\n=,[]{}").find(letter) != std::string_view::npos) {
      dots = 0;
      begin = i + 1;
    }
  }
  return text.npos;
}

// Returns FILE:LINE:COLUMN; nodes without a place, such as the whole file, are at its start.
std::string place_at(const std::string& file, const toml::source_position& at) {
  return fmt::format("{}:{}:{}", file, std::max<std::int64_t>(at.line, 1),
                     std::max<std::int64_t>(at.column, 1));
}

std::string place_at(const std::string& file, const toml::node& node) {
  return place_at(file, node.source().begin);
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = word.npos;
  for (const std::string& candidate : candidates) {
    std::size_t distance = edit_distance(word.substr(0, 200), candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

toml::table parse_toml(std::string_view text, const std::string& file) {
  if (text.size() > gate_bytes_max)
    throw BadGate(place_at(file, toml::source_position()),
                  fmt::format("expected at most 1 MiB of text, got {} bytes", text.size()));
  if (std::size_t deep = find_deep_key(text); deep != text.npos)
    throw BadGate(
        fmt::format("{}:{}:1", file,
                    1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(deep), '\n')),
        "expected keys of at most 100 parts, got one with more");
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw BadGate(place_at(file, error.source().begin),
                  "expected TOML, got a syntax error: " +
                      printable(std::string_view(error.description()).substr(0, 200)));
  }
}

GateTable::GateTable(const toml::table& table, std::string file, std::string path)
    : table_(&table), file_(std::move(file)), path_(std::move(path)) {}

std::string GateTable::path_of(std::string_view key) const {
  std::string name = printable(key);
  return path_.empty() ? name : path_ + "." + name;
}

std::string GateTable::place() const { return place_at(file_, *table_); }

std::string GateTable::place_of(std::string_view key) const {
  const toml::node* node = table_->get(key);
  return node ? place_at(file_, *node) : place();
}

const toml::node* GateTable::value(std::string_view key) {
  known_.emplace(key);
  return table_->get(key);
}

bool GateTable::has(std::string_view key) { return value(key) != nullptr; }

void GateTable::reject_value(std::string_view key, std::string_view expected,
                             std::string_view got) const {
  throw BadGate(place_of(key),
                fmt::format("key '{}': expected {}, got {}", path_of(key), expected, got));
}

void GateTable::reject_at(const toml::node& node, std::string_view key, std::string_view expected,
                          std::string_view got) const {
  throw BadGate(place_at(file_, node),
                fmt::format("key '{}': expected {}, got {}", path_of(key), expected, got));
}

void GateTable::reject(std::string_view key, std::string_view expected) const {
  const toml::node* node = table_->get(key);
  reject_value(key, expected, node ? shown(*node) : "none");
}

void GateTable::refuse(std::string_view key, std::string_view needs) {
  if (!has(key)) return;
  throw BadGate(place_of(key), fmt::format("the key '{}' needs {}, which this program doesn't "
                                           "have; expected no such key, got {}",
                                           path_of(key), needs, shown(*table_->get(key))));
}

void GateTable::finish() const {
  std::vector<std::string> known(known_.begin(), known_.end());
  // The table iterates in alphabetical order; the message names the first key in the file.
  const toml::key* first = nullptr;
  for (auto&& [key, node] : *table_) {
    if (known_.count(key.str())) continue;
    if (!first || key.source().begin < first->source().begin) first = &key;
  }
  if (!first) return;
  throw BadGate(place_at(file_, first->source().begin),
                fmt::format("expected a known key, got '{}'; the nearest known key is '{}'",
                            path_of(first->str()), path_of(nearest(first->str(), known))));
}

std::string GateTable::text(std::string_view key, std::string otherwise) {
  const toml::node* node = value(key);
  if (!node) return otherwise;
  if (!is_plain_text(*node)) reject(key, "a string without control characters");
  return node->as_string()->get();
}

std::string GateTable::word(std::string_view key, std::string otherwise,
                            const std::vector<std::string>& choices) {
  std::string word = text(key, std::move(otherwise));
  if (std::find(choices.begin(), choices.end(), word) == choices.end())
    reject(key, fmt::format("one of {}", join_text(choices, ", ")));
  return word;
}

std::int64_t GateTable::integer(std::string_view key, std::int64_t otherwise, Range range) {
  const toml::node* node = value(key);
  if (!node) return otherwise;
  if (!node->is_integer() || node->as_integer()->get() < range.min ||
      node->as_integer()->get() > range.max)
    reject(key, fmt::format("an integer from {} to {}", range.min, range.max));
  return node->as_integer()->get();
}

double GateTable::number(std::string_view key, double otherwise, NumberRange range) {
  const toml::node* node = value(key);
  if (!node) return otherwise;
  std::optional<double> number;
  if (node->is_number()) number = node->value<double>();
  if (!number || !(*number >= range.min && *number <= range.max))
    reject(key, fmt::format("a number from {} to {}", range.min, range.max));
  return *number;
}

bool GateTable::boolean(std::string_view key, bool otherwise) {
  const toml::node* node = value(key);
  if (!node) return otherwise;
  if (!node->is_boolean()) reject(key, "true or false");
  return node->as_boolean()->get();
}

const toml::array* GateTable::list(std::string_view key, std::string_view expected) {
  const toml::node* node = value(key);
  if (!node) return nullptr;
  if (!node->is_array() || node->as_array()->size() > list_max) reject(key, expected);
  return node->as_array();
}

std::vector<std::string> GateTable::texts(std::string_view key) {
  std::vector<std::string> result;
  const toml::array* items = list(key, "a list of strings");
  if (!items) return result;
  for (const toml::node& item : *items) {
    if (!is_plain_text(item))
      reject_at(item, key, "a list of strings without control characters",
                "a list with " + shown(item));
    result.push_back(item.as_string()->get());
  }
  return result;
}

std::vector<std::vector<std::string>> GateTable::read_rows(std::string_view key,
                                                           bool takes_integers) {
  std::string expected = fmt::format("a list of strings, or of lists of strings{}",
                                     takes_integers ? " and integers" : "");
  std::vector<std::vector<std::string>> result;
  const toml::array* items = list(key, expected);
  if (!items) return result;
  auto text_of = [&](const toml::node& node) {
    if (takes_integers && node.is_integer()) return fmt::format("{}", node.as_integer()->get());
    if (!is_plain_text(node)) reject_at(node, key, expected, "a list with " + shown(node));
    return node.as_string()->get();
  };
  for (const toml::node& item : *items) {
    std::vector<std::string>& row = result.emplace_back();
    if (const toml::array* fields = item.as_array()) {
      if (fields->size() > list_max) reject(key, expected);
      for (const toml::node& field : *fields) row.push_back(text_of(field));
    } else if (item.is_string()) {
      row.push_back(text_of(item));
    } else {
      reject_at(item, key, expected, "a list with " + shown(item));
    }
  }
  return result;
}

std::vector<std::vector<std::string>> GateTable::rows(std::string_view key) {
  return read_rows(key, false);
}

std::vector<std::vector<std::string>> GateTable::rows_with_integers(std::string_view key) {
  return read_rows(key, true);
}

std::vector<double> GateTable::numbers(std::string_view key) {
  std::vector<double> result;
  const toml::array* items = list(key, "a list of numbers");
  if (!items) return result;
  for (const toml::node& item : *items) {
    std::optional<double> number;
    if (item.is_number()) number = item.value<double>();
    if (!number || !std::isfinite(*number))
      reject_at(item, key, "a list of finite numbers", "a list with " + shown(item));
    result.push_back(*number);
  }
  return result;
}

Shape GateTable::sizes(std::string_view key, Shape otherwise, Range range) {
  std::string expected =
      fmt::format("a list of at most {} integers from {} to {}", dims_max, range.min, range.max);
  const toml::array* items = list(key, expected);
  if (!items) return otherwise;
  if (std::int64_t(items->size()) > dims_max) reject(key, expected);
  Shape result;
  for (const toml::node& item : *items) {
    if (!item.is_integer() || item.as_integer()->get() < range.min ||
        item.as_integer()->get() > range.max)
      reject_at(item, key, expected, "a list with " + shown(item));
    result.push_back(item.as_integer()->get());
  }
  return result;
}

std::optional<GateTable> GateTable::table(std::string_view key) {
  const toml::node* node = value(key);
  if (!node) return std::nullopt;
  if (!node->is_table()) reject(key, "a table");
  return GateTable(*node->as_table(), file_, path_of(key));
}

std::vector<GateTable> GateTable::tables(std::string_view key) {
  const toml::node* node = value(key);
  if (!node) return {};
  if (node->is_table()) return {GateTable(*node->as_table(), file_, path_of(key))};
  std::vector<GateTable> result;
  for (const toml::node& item : *list(key, "a table or a list of tables")) {
    if (!item.is_table()) reject_at(item, key, "a list of tables", "a list with " + shown(item));
    result.emplace_back(*item.as_table(), file_, path_of(key));
  }
  return result;
}

std::vector<GateTable::TextOrTable> GateTable::texts_or_tables(std::string_view key) {
  std::vector<TextOrTable> result;
  const toml::array* items = list(key, "a list of strings and tables");
  if (!items) return result;
  for (const toml::node& item : *items) {
    if (item.is_table())
      result.push_back(
          {place_at(file_, item), "", GateTable(*item.as_table(), file_, path_of(key))});
    else if (is_plain_text(item))
      result.push_back({place_at(file_, item), item.as_string()->get(), std::nullopt});
    else
      reject_at(item, key, "a list of strings and tables", "a list with " + shown(item));
  }
  return result;
}

std::vector<std::string> GateTable::keys() const {
  std::vector<std::string> result;
  for (auto&& [key, node] : *table_) result.emplace_back(key.str());
  return result;
}

}  // namespace simmesh
