#include "replay/read/json_repair.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <vector>

#include "core/check/counted.h"
#include "core/check/join_text.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t json_levels_max = 1000;
constexpr std::size_t around_bytes = 24;

bool is_json_space(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

bool is_hex(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
         (byte >= 'A' && byte <= 'F');
}

// Returns the bytes of the UTF-8 character at the beginning; 0 where there is none.
std::size_t utf8_length(std::string_view text) {
  auto byte = [&](std::size_t i) { return i < text.size() ? std::uint8_t(text[i]) : 0u; };
  unsigned first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  bool is_overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  bool is_surrogate = first == 0xED && byte(1) > 0x9F;
  return is_overlong || is_surrogate || (first == 0xF4 && byte(1) > 0x8F) ? 0 : length;
}

// Repairer copies a text and changes what isn't JSON.
class Repairer {
 public:
  Repairer(std::string_view text, JsonRepairs& repairs) : text_(text), repairs_(repairs) {}

  std::string run() {
    copy_value(0);
    skip_space();
    if (at_ < text_.size()) fail("the end");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(std::string_view expected) {
    if (at_ >= text_.size())
      throw JsonFault{at_, fmt::format("expected {}, got the end", expected), true};
    throw JsonFault{at_, fmt::format("expected {}, got '{}' in '{}'", expected,
                                     shown_bytes(text_.substr(at_, 1)), text_around(text_, at_))};
  }

  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void copy() { out_ += text_[at_++]; }
  void skip_space() {
    while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
  }

  void copy_value(std::size_t level) {
    skip_space();
    if (level > json_levels_max) fail(fmt::format("at most {} levels", json_levels_max));
    char first = next();
    if (first == '{' || first == '[') return copy_entries(level, first == '{' ? '}' : ']');
    if (first == '"') return copy_text();
    if (first >= '0' && first <= '9') return copy_number(at_);
    bool is_word = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
    if (!is_word && first != '-' && first != '+') fail("a value");
    copy_word();
  }

  void copy_entries(std::size_t level, char closing) {
    copy();
    skip_space();
    if (next() == closing) return copy();
    while (true) {
      skip_space();
      if (closing == '}') copy_key();
      copy_value(level + 1);
      skip_space();
      if (next() == closing) return copy();
      if (next() != ',') fail(closing == '}' ? "',' or '}'" : "',' or ']'");
      ++at_;
      skip_space();
      if (next() == closing) {
        ++repairs_.commas;
        return copy();
      }
      out_ += ',';
    }
  }

  void copy_key() {
    if (next() != '"') fail("a key");
    copy_text();
    skip_space();
    if (next() != ':') fail("':'");
    copy();
  }

  void copy_text() {
    copy();
    while (true) {
      if (at_ >= text_.size()) fail("the end of a text");
      char byte = text_[at_];
      if (byte == '"') return copy();
      if (byte == '\\')
        copy_escape();
      else if (std::uint8_t(byte) < 0x20)
        replace(1, fmt::format("\\u{:04x}", byte), repairs_.controls);
      else if (std::size_t length = utf8_length(text_.substr(at_)))
        for (; length > 0; --length) copy();
      else
        replace(1, "\\ufffd", repairs_.bad_bytes);
    }
  }

  void replace(std::size_t length, std::string_view by, std::int64_t& count) {
    at_ += length;
    out_ += by;
    ++count;
  }

  // Returns the number after "\u" at a place; -1 where there is none.
  int code_at(std::size_t place) const {
    if (place + 6 > text_.size() || text_[place] != '\\' || text_[place + 1] != 'u') return -1;
    std::string_view digits = text_.substr(place + 2, 4);
    if (!std::all_of(digits.begin(), digits.end(), is_hex)) return -1;
    int code = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    return code;
  }

  void copy_escape() {
    char escaped = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    int code = code_at(at_), other = code_at(at_ + 6);
    std::size_t length = 2;
    if (code >= 0xD800 && code <= 0xDFFF) {
      bool is_pair = code < 0xDC00 && other >= 0xDC00 && other <= 0xDFFF;
      if (!is_pair) return replace(6, "\\ufffd", repairs_.bad_bytes);
      length = 12;
    } else if (code >= 0) {
      length = 6;
    } else if (escaped == '\0' ||
               std::string_view("\"\\/bfnrt").find(escaped) == std::string_view::npos) {
      return replace(1, "\\\\", repairs_.backslashes);
    }
    for (; length > 0; --length) copy();
  }

  // Copies true, false and null; inf and NaN become null, and a sign may begin a number.
  void copy_word() {
    std::size_t begin = at_;
    bool is_signed = next() == '-' || next() == '+';
    if (is_signed) ++at_;
    if (is_signed && next() >= '0' && next() <= '9' && text_[begin] == '-')
      return copy_number(begin);
    std::string word;
    while (at_ < text_.size() && ((next() | 0x20) >= 'a' && (next() | 0x20) <= 'z'))
      word += char(text_[at_++] | 0x20);
    std::string_view exact = text_.substr(begin, at_ - begin);
    if (exact == "true" || exact == "false" || exact == "null") {
      out_ += exact;
      return;
    }
    if (word == "inf" || word == "infinity" || word == "nan")
      return replace(0, "null", repairs_.not_finite);
    at_ = begin;
    fail("a value");
  }

  bool skip_digits() {
    std::size_t begin = at_;
    while (next() >= '0' && next() <= '9') ++at_;
    return at_ > begin;
  }

  void copy_number(std::size_t begin) {
    skip_digits();
    bool is_integer = true;
    if (next() == '.') {
      is_integer = false;
      ++at_;
      if (!skip_digits()) fail("a digit");
    }
    if (next() == 'e' || next() == 'E') {
      is_integer = false;
      ++at_;
      if (next() == '-' || next() == '+') ++at_;
      if (!skip_digits()) fail("a digit");
    }
    std::string number(text_.substr(begin, at_ - begin));
    std::size_t first = number[0] == '-' ? 1 : 0;
    if (number[first] == '0' && first + 1 < number.size() && number[first + 1] >= '0' &&
        number[first + 1] <= '9') {
      at_ = begin;
      fail("a number without zeros before it");
    }
    if (!std::isfinite(std::strtod(number.c_str(), nullptr)))
      return replace(0, "null", repairs_.not_finite);
    if (is_integer && !fits_64_bits(number)) return replace(0, number + "e0", repairs_.wide);
    out_ += number;
  }

  static bool fits_64_bits(const std::string& number) {
    std::int64_t low = 0;
    std::uint64_t high = 0;
    const char *begin = number.data(), *end = begin + number.size();
    return std::from_chars(begin, end, low).ec == std::errc() ||
           std::from_chars(begin, end, high).ec == std::errc();
  }

  std::string_view text_;
  JsonRepairs& repairs_;
  std::string out_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_string(const JsonRepairs& repairs) {
  std::vector<std::string> words;
  auto add = [&](std::int64_t count, std::string_view what, std::string_view rest) {
    if (count > 0) words.push_back(counted(count, what) + std::string(rest));
  };
  add(repairs.not_finite, "number", " that JSON can't have, such as inf and NaN");
  add(repairs.bad_bytes, "character", " of texts that UTF-8 doesn't have");
  add(repairs.controls, "control character", " without an escape");
  add(repairs.backslashes, "escape", " that JSON doesn't have, such as \\U");
  add(repairs.wide, "integer", " of more than 64 bits");
  add(repairs.commas, "comma", " with nothing after it");
  return join_text(words, ", ");
}

std::string repaired_json(std::string_view text, JsonRepairs& repairs) {
  return Repairer(text, repairs).run();
}

std::string shown_bytes(std::string_view bytes) {
  std::string shown;
  for (char byte : bytes) {
    if (byte >= ' ' && byte <= '~')
      shown += byte;
    else
      shown += fmt::format("\\x{:02x}", std::uint8_t(byte));
  }
  return shown;
}

std::string text_around(std::string_view text, std::size_t place) {
  place = std::min(place, text.size());
  std::size_t begin = place - std::min(place, around_bytes);
  return shown_bytes(text.substr(begin, place - begin + around_bytes));
}

}  // namespace simmesh::replay
