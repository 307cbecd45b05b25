#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace simmesh {

// JsonValue is a JSON value: null, true or false, an integer, another number, a
// text, a list, or an object with its keys in order.
struct JsonValue {
  using List = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> value = {};

  // parse reads text, which may have comments. Raises a ValueError at `where` for text that isn't
  // JSON and for an object with two values under one key.
  static JsonValue parse(std::string_view text, std::string_view where = "core/json");
  static JsonValue object() { return {Object()}; }
  static JsonValue of(bool flag) { return {flag}; }
  static JsonValue of(std::int64_t number) { return {number}; }
  static JsonValue of(double number) { return {number}; }
  static JsonValue of(std::string text) { return {std::move(text)}; }
  static JsonValue of(const char* text) { return {std::string(text)}; }

  // get returns the value as a type, null if it is of another.
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
  bool is_null() const { return std::holds_alternative<std::monostate>(value); }
  // is_text says whether the value is that text.
  bool is_text(std::string_view text) const;

  // find returns the value under a key of an object, null if there is none.
  const JsonValue* find(std::string_view key) const;
  JsonValue* find(std::string_view key);
  // set adds a key to an object, or replaces its value. erase removes it.
  void set(std::string_view key, JsonValue entry);
  void erase(std::string_view key);

  // text returns the value as JSON in one line; for a message of at most `bytes_max` bytes.
  std::string text() const;
  std::string text(std::size_t bytes_max) const;
};

}  // namespace simmesh
