#include "core/check/json_value.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/check/error.h"

namespace simmesh {

namespace {

constexpr std::size_t json_depth_max = 64;

// Receives the parser's events, and builds the value.
class JsonBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonBuilder(std::string_view where) : where_(where) {}

  JsonValue take() { return std::move(root_); }

  bool null() override { return put({}); }
  bool boolean(bool flag) override { return put({flag}); }
  bool number_integer(std::int64_t number) override { return put({number}); }
  bool number_unsigned(std::uint64_t number) override {
    constexpr auto max = std::uint64_t(std::numeric_limits<std::int64_t>::max());
    return number > max ? put({double(number)}) : put({std::int64_t(number)});
  }
  bool number_float(double number, const std::string&) override { return put({number}); }
  bool string(std::string& text) override { return put({std::move(text)}); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonValue::object()); }
  bool start_array(std::size_t) override { return open({JsonValue::List()}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (!keys_.back().insert(name).second)
      raise(ErrorKind::value_error, where_, "expected each key once, got {} twice", name);
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    raise(ErrorKind::value_error, where_, "expected JSON, got {}", error.what());
  }

 private:
  JsonValue& place(JsonValue value) {
    if (open_.empty()) return root_ = std::move(value);
    if (auto* list = std::get_if<JsonValue::List>(&open_.back()->value))
      return list->emplace_back(std::move(value));
    auto& object = std::get<JsonValue::Object>(open_.back()->value);
    return object.emplace_back(std::move(key_), std::move(value)).second;
  }

  bool put(JsonValue value) {
    place(std::move(value));
    return true;
  }

  // An open value isn't moved: its parent gets no further entries until it is closed.
  bool open(JsonValue value) {
    if (open_.size() >= json_depth_max)
      raise(ErrorKind::value_error, where_, "expected at most {} levels, got more", json_depth_max);
    open_.push_back(&place(std::move(value)));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  std::string_view where_;
  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::vector<std::set<std::string>> keys_;  // of the open values; one has up to 100,000
  std::string key_;
};

nlohmann::ordered_json as_json(const JsonValue& node) {
  if (const auto* flag = node.get<bool>()) return *flag;
  if (const auto* integer = node.get<std::int64_t>()) return *integer;
  if (const auto* number = node.get<double>()) return *number;
  if (const auto* text = node.get<std::string>()) return *text;
  if (const auto* list = node.get<JsonValue::List>()) {
    auto result = nlohmann::ordered_json::array();
    for (const JsonValue& entry : *list) result.push_back(as_json(entry));
    return result;
  }
  if (const auto* object = node.get<JsonValue::Object>()) {
    auto result = nlohmann::ordered_json::object();
    for (const auto& [key, entry] : *object) result[key] = as_json(entry);
    return result;
  }
  return nullptr;
}

}  // namespace

JsonValue JsonValue::parse(std::string_view text, std::string_view where) {
  JsonBuilder builder(where);
  nlohmann::json::sax_parse(text, &builder, nlohmann::json::input_format_t::json, true, true);
  return builder.take();
}

bool JsonValue::is_text(std::string_view text) const {
  const auto* own = get<std::string>();
  return own != nullptr && *own == text;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  if (const auto* entries = get<Object>())
    for (const auto& [name, entry] : *entries)
      if (name == key) return &entry;
  return nullptr;
}

JsonValue* JsonValue::find(std::string_view key) {
  return const_cast<JsonValue*>(std::as_const(*this).find(key));
}

void JsonValue::set(std::string_view key, JsonValue entry) {
  if (JsonValue* found = find(key))
    *found = std::move(entry);
  else
    std::get<Object>(value).emplace_back(key, std::move(entry));
}

void JsonValue::erase(std::string_view key) {
  auto& entries = std::get<Object>(value);
  entries.erase(std::remove_if(entries.begin(), entries.end(),
                               [key](const auto& entry) { return entry.first == key; }),
                entries.end());
}

std::string JsonValue::text() const {
  return as_json(*this).dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

std::string JsonValue::text(std::size_t bytes_max) const {
  std::string whole = text();
  return whole.size() <= bytes_max ? whole : whole.substr(0, bytes_max - 3) + "...";
}

}  // namespace simmesh
