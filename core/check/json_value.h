#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace simmesh {

// JsonValue is a JSON value: null, true or false, an integer, another number, a
// text, a list, or an object with its keys in order. What can be a value becomes one by itself:
//
//   JsonValue::List steps;
//   steps.push_back(JsonValue::object({{"step", 3}, {"losses", std::vector{0.5, 0.25}}}));
//   JsonValue::object({{"steps", std::move(steps)}}).text_utf8();
//   // {"steps":[{"step":3,"losses":[0.5,0.25]}]}
struct JsonValue {
  using List = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;
  struct Member;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> value;

  JsonValue() noexcept;
  JsonValue(std::same_as<bool> auto flag) { value = flag; }
  // An unsigned integer must be below 2^63.
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) JsonValue(Integer number)
      : JsonValue(std::cmp_less(number, 0), static_cast<std::uint64_t>(number)) {}
  JsonValue(double number);
  JsonValue(std::string text);
  JsonValue(std::string_view text);
  JsonValue(const char* text);
  JsonValue(List entries);
  JsonValue(Object members);
  template <class Entry>
  JsonValue(const std::vector<Entry>& entries) : JsonValue(List(entries.begin(), entries.end())) {}

  // They are compiled once, since many sources hold values.
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();

  // parse reads text, which may have comments. Raises a ValueError at `where` for text that isn't
  // JSON and for an object with two values under one key.
  static JsonValue parse(std::string_view text, std::string_view where = "core/json");
  // object returns an object with these members, which must have different keys.
  static JsonValue object();
  static JsonValue object(std::initializer_list<Member> members);

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

  // text returns the value as JSON in one line of ASCII; for a message of at most `bytes_max`
  // bytes. text_utf8 escapes no more than it must. Bytes that aren't UTF-8 become U+FFFD, and a
  // number that isn't finite becomes null.
  std::string text() const;
  std::string text(std::size_t bytes_max) const;
  std::string text_utf8() const;

 private:
  JsonValue(bool is_negative, std::uint64_t bits);
};

// JsonValue::Member is a key of an object that is being made, and its value.
struct JsonValue::Member {
  std::string_view key;
  mutable JsonValue value;
};

}  // namespace simmesh
