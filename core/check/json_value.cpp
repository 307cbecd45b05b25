#include "core/check/json_value.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/json_fault.h"

namespace simmesh {

namespace {

constexpr std::size_t json_depth_max = 64;

// Receives the parser's events, and builds the value.
class JsonBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonBuilder(std::string_view where) : where_(where) {}

  JsonValue take() { return std::move(root_); }

  bool null() override { return put({}); }
  bool boolean(bool flag) override { return put(flag); }
  bool number_integer(std::int64_t number) override { return put(number); }
  bool number_unsigned(std::uint64_t number) override {
    constexpr auto max = std::uint64_t(std::numeric_limits<std::int64_t>::max());
    return number > max ? put(double(number)) : put(number);
  }
  bool number_float(double number, const std::string&) override { return put(number); }
  bool string(std::string& text) override { return put(std::move(text)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonValue::object()); }
  bool start_array(std::size_t) override { return open(JsonValue::List()); }
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
    raise(ErrorKind::value_error, where_, "expected JSON, got {}", json_fault(error.what()));
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

// JsonWriter writes a value in one line. What needs care, such as a text that may not be UTF-8 or
// the digits of a number, nlohmann writes.
class JsonWriter {
 public:
  explicit JsonWriter(bool is_ascii) : is_ascii_(is_ascii) {}

  void add(const JsonValue& node) {
    if (const auto* flag = node.get<bool>()) {
      text_ += *flag ? "true" : "false";
    } else if (const auto* integer = node.get<std::int64_t>()) {
      text_ += fmt::format_int(*integer).c_str();
    } else if (const auto* number = node.get<double>()) {
      text_ += nlohmann::json(*number).dump();
    } else if (const auto* text = node.get<std::string>()) {
      add_text(*text);
    } else if (const auto* list = node.get<JsonValue::List>()) {
      text_ += '[';
      for (const JsonValue& entry : *list) {
        if (&entry != list->data()) text_ += ',';
        add(entry);
      }
      text_ += ']';
    } else if (const auto* object = node.get<JsonValue::Object>()) {
      text_ += '{';
      for (const auto& member : *object) {
        if (&member != object->data()) text_ += ',';
        add_text(member.first);
        text_ += ':';
        add(member.second);
      }
      text_ += '}';
    } else {
      text_ += "null";
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void add_text(const std::string& text) {
    auto is_plain = [](char letter) {
      return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\';
    };
    if (std::all_of(text.begin(), text.end(), is_plain))
      text_.append(1, '"').append(text).append(1, '"');
    else
      text_ +=
          nlohmann::json(text).dump(-1, ' ', is_ascii_, nlohmann::json::error_handler_t::replace);
  }

  bool is_ascii_;
  std::string text_;
};

std::string written(const JsonValue& value, bool is_ascii) {
  JsonWriter writer(is_ascii);
  writer.add(value);
  return writer.take();
}

}  // namespace

JsonValue::JsonValue() noexcept = default;
JsonValue::JsonValue(bool is_negative, std::uint64_t bits) : value(std::int64_t(bits)) {
  SIMMESH_CHECK(is_negative || std::int64_t(bits) >= 0, "expected an integer below 2^63, got {}",
                bits);
}
JsonValue::JsonValue(double number) : value(number) {}
JsonValue::JsonValue(std::string text) : value(std::move(text)) {}
JsonValue::JsonValue(std::string_view text) : value(std::string(text)) {}
JsonValue::JsonValue(const char* text) : value(std::string(text)) {}
JsonValue::JsonValue(List entries) : value(std::move(entries)) {}
JsonValue::JsonValue(Object members) : value(std::move(members)) {}

JsonValue::JsonValue(const JsonValue& other) = default;
JsonValue::JsonValue(JsonValue&& other) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue& other) = default;
JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;
JsonValue::~JsonValue() = default;

JsonValue JsonValue::object() { return Object(); }

JsonValue JsonValue::object(std::initializer_list<Member> members) {
  Object object;
  object.reserve(members.size());
  for (const Member& member : members) object.emplace_back(member.key, std::move(member.value));
  return object;
}

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

std::string JsonValue::text() const { return written(*this, true); }

std::string JsonValue::text_utf8() const { return written(*this, false); }

std::string JsonValue::text(std::size_t bytes_max) const {
  std::string whole = text();
  return whole.size() <= bytes_max ? whole : whole.substr(0, bytes_max - 3) + "...";
}

}  // namespace simmesh
