#include "zero/config/hjson.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/check/error.h"
#include "core/check/read_file.h"

namespace simmesh::zero {

namespace {

constexpr std::size_t hjson_depth_max = 64;

bool is_white(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}
bool is_punctuator(char letter) {
  return std::string_view("{}[],:").find(letter) != std::string::npos;
}

std::string_view without_white(std::string_view text) {
  while (!text.empty() && is_white(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_white(text.front())) text.remove_prefix(1);
  return text;
}

// Returns the number that a text is, in the grammar of JSON.
std::optional<JsonValue> number_of(std::string_view text) {
  const char *begin = text.data(), *end = begin + text.size(), *at = begin;
  auto digits = [&] {
    const char* first = at;
    while (at != end && *at >= '0' && *at <= '9') ++at;
    return at != first;
  };
  if (at != end && *at == '-') ++at;
  const char* first = at;
  if (!digits() || (*first == '0' && at - first > 1)) return {};
  bool is_integer = true;
  if (at != end && *at == '.') {
    is_integer = false;
    ++at;
    if (!digits()) return {};
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    is_integer = false;
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    if (!digits()) return {};
  }
  if (at != end) return {};
  if (std::int64_t integer = 0;
      is_integer && std::from_chars(begin, end, integer).ec == std::errc())
    return JsonValue(integer);
  double number = 0;
  if (std::from_chars(begin, end, number).ec != std::errc())  // as in Python, no error
    number = text.find('-', 1) == text.npos ? std::numeric_limits<double>::infinity() : 0.0;
  constexpr double largest = 1e10;
  if (!is_integer && number == std::floor(number) && std::abs(number) < largest)
    return JsonValue(std::int64_t(number));
  return JsonValue(number);
}

// HjsonReader reads from a place on; each function leaves the place behind what it read.
class HjsonReader {
 public:
  explicit HjsonReader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  JsonValue root() {
    skip();
    if (at_end()) return JsonValue::object();
    bool has_brace = letter() == '{' || letter() == '[';
    JsonValue value = has_brace ? read_value(0) : read_object(0, false);
    skip();
    if (!at_end()) refuse("the end of the text");
    return value;
  }

 private:
  bool at_end() const { return place_ >= text_.size(); }
  char letter(std::size_t ahead = 0) const {
    return place_ + ahead < text_.size() ? text_[place_ + ahead] : '\0';
  }

  [[noreturn]] void refuse(std::string_view expected) const {
    std::string_view before = text_.substr(0, std::min(place_, text_.size()));
    std::string rest(text_.substr(before.size(), 20));
    raise(ErrorKind::value_error, "zero/config", "line {}: expected JSON or Hjson, {}, got {}",
          std::count(before.begin(), before.end(), '\n') + 1, expected,
          rest.empty() ? "the end of the text" : JsonValue(rest).text());
  }

  // Skips white space and comments.
  void skip() {
    while (!at_end()) {
      if (is_white(letter())) {
        ++place_;
      } else if (letter() == '#' || (letter() == '/' && letter(1) == '/')) {
        place_ = std::min(text_.find_first_of("\r\n", place_), text_.size());
      } else if (letter() == '/' && letter(1) == '*') {
        std::size_t end = text_.find("*/", place_ + 2);
        if (end == text_.npos) refuse("the end of a comment");
        place_ = end + 2;
      } else {
        return;
      }
    }
  }

  JsonValue read_value(std::size_t depth) {
    if (depth >= hjson_depth_max) refuse(fmt::format("at most {} levels", hjson_depth_max));
    if (letter() == '{') {
      ++place_;
      return read_object(depth, true);
    }
    if (letter() == '[') return read_list(depth);
    if (text_.substr(place_).starts_with("'''")) return JsonValue(read_lines());
    if (letter() == '"' || letter() == '\'') return JsonValue(read_quoted());
    return read_bare();
  }

  JsonValue read_object(std::size_t depth, bool has_brace) {
    JsonValue object = JsonValue::object();
    skip();
    while (has_brace ? letter() != '}' : !at_end()) {
      std::string key = read_key();
      if (object.find(key) != nullptr)
        raise(ErrorKind::value_error, "zero/config", "expected each key once, got {} twice", key);
      skip();
      if (letter() != ':') refuse("a colon after a key");
      ++place_;
      skip();
      object.set(key, read_value(depth + 1));
      end_entry();
    }
    if (has_brace) ++place_;
    return object;
  }

  JsonValue read_list(std::size_t depth) {
    ++place_;
    JsonValue::List list;
    skip();
    while (letter() != ']') {
      if (at_end()) refuse("the end of a list");
      list.push_back(read_value(depth + 1));
      end_entry();
    }
    ++place_;
    return {std::move(list)};
  }

  void end_entry() {
    skip();
    if (letter() == ',') {
      ++place_;
      skip();
    }
  }

  std::string read_key() {
    if (letter() == '"' || letter() == '\'') return read_quoted();
    std::size_t begin = place_;
    while (!at_end() && !is_white(letter()) && !is_punctuator(letter())) ++place_;
    if (place_ == begin) refuse("a key");
    return std::string(text_.substr(begin, place_ - begin));
  }

  // JSON's own reader takes the escapes; the other quote needs one there.
  std::string read_quoted() {
    char quote = letter();
    std::size_t begin = place_++;
    std::string json = "\"";
    for (; !at_end() && letter() != quote; ++place_) {
      if (letter() == '\\' && letter(1) == '\'') {
        ++place_;
      } else if (letter() == '\\') {
        json += letter();
        ++place_;
      } else if (letter() == '"') {
        json += '\\';
      }
      json += letter();
    }
    bool is_open = at_end();
    ++place_;
    nlohmann::json value = nlohmann::json::parse(json + "\"", nullptr, false);
    if (!is_open && value.is_string()) return value.get<std::string>();
    place_ = begin;
    refuse("a text that ends with its quote");
  }

  // The lines lose the indent of the opening quotes, and the last one its end.
  std::string read_lines() {
    std::size_t begin = place_;
    std::size_t line = text_.substr(0, place_).rfind('\n');
    std::size_t indent = line == text_.npos ? place_ : place_ - line - 1;
    place_ += 3;
    skip_indent(text_.size());
    if (letter() == '\n') {
      ++place_;
      skip_indent(indent);
    }
    std::string result;
    while (!text_.substr(place_).starts_with("'''")) {
      if (at_end()) {
        place_ = begin;
        refuse("three quotes at the end of a text");
      }
      char next = letter();
      ++place_;
      if (next != '\r') result += next;
      if (next == '\n') skip_indent(indent);
    }
    place_ += 3;
    if (result.ends_with('\n')) result.pop_back();
    return result;
  }

  void skip_indent(std::size_t columns) {
    for (; columns > 0 && (letter() == ' ' || letter() == '\t' || letter() == '\r'); --columns)
      ++place_;
  }

  // A word or a number ends where a comma, a bracket or a comment begins; all else is a text to the
  // end of the line.
  JsonValue read_bare() {
    if (at_end() || is_punctuator(letter())) refuse("a value");
    std::size_t begin = place_;
    for (;; ++place_) {
      bool is_line_end = at_end() || letter() == '\r' || letter() == '\n';
      bool is_comment =
          letter() == '#' || (letter() == '/' && (letter(1) == '/' || letter(1) == '*'));
      if (!is_line_end && !is_comment && letter() != ',' && letter() != '}' && letter() != ']')
        continue;
      std::string_view word = without_white(text_.substr(begin, place_ - begin));
      if (word == "null") return {};
      if (word == "true" || word == "false") return JsonValue(word == "true");
      if (std::optional<JsonValue> number = number_of(word)) return *number;
      if (is_line_end) return JsonValue(word);
    }
  }

  std::string_view text_;
  std::size_t place_ = 0;
};

}  // namespace

JsonValue parse_hjson(std::string_view text) { return HjsonReader(text).root(); }

JsonValue read_hjson_file(const std::string& path) {
  constexpr std::size_t bytes_max = std::size_t(1) << 26;
  std::string text = read_file({.where = "zero/config",
                                .what = "a DeepSpeed configuration",
                                .path = path,
                                .bytes_max = bytes_max});
  try {
    return parse_hjson(text);
  } catch (const Error& error) {
    throw Error(error.kind(), "zero/config", fmt::format("{}: {}", path, error.message()));
  }
}

}  // namespace simmesh::zero
