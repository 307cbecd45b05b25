#include "replay/read/json_stream.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <vector>

#include "replay/read/bad_trace.h"
#include "replay/read/json_extent.h"
#include "replay/read/json_repair.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t window_bytes = 1 << 18;

bool is_space(char byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

bool ends_scalar(char byte) {
  return is_space(byte) || std::string_view(",\"{}[]").find(byte) != std::string_view::npos;
}

// Window is the part of a source that is in memory: from what is kept to what was read.
class Window {
 public:
  Window(ByteSource& source, std::size_t value_bytes_max)
      : source_(source),
        value_bytes_max_(value_bytes_max),
        bytes_(window_bytes + JsonPiece::padding) {}

  // peek returns the next byte that isn't white space.
  char peek() {
    while (true) {
      while (at_ < end_ && is_space(bytes_[at_])) ++at_;
      if (at_ < end_) return bytes_[at_];
      keep_from_here();
      if (!fill()) fail("expected more, got the end of the file");
    }
  }

  void expect(char byte) {
    char came = peek();
    if (came != byte) fail(fmt::format("expected '{}', got '{}'", byte, shown_bytes({&came, 1})));
    ++at_;
  }

  bool take_if(char byte) {
    if (peek() != byte) return false;
    ++at_;
    return true;
  }

  // value returns the value that begins here, and moves past it.
  JsonPiece value() {
    peek();
    keep_from_here();
    char first = bytes_[at_];
    if (first == '{' || first == '[')
      skip_nested();
    else if (first == '"')
      skip_text();
    else
      skip_scalar();
    return {{bytes_.data() + kept_, at_ - kept_}, dropped_ + kept_};
  }

  bool only_space_is_left() {
    while (true) {
      while (at_ < end_ && is_space(bytes_[at_])) ++at_;
      if (at_ < end_) return false;
      keep_from_here();
      if (!fill()) return true;
    }
  }

  [[noreturn]] void fail(std::string_view what) const {
    std::string around = text_around({bytes_.data(), end_}, at_);
    throw BadTrace("json", "replay/json",
                   fmt::format("{}: byte {}: {}{}", source_.name(), dropped_ + at_, what,
                               around.empty() ? "" : " in '" + around + "'"));
  }

 private:
  void keep_from_here() { kept_ = at_; }

  // fill reads more bytes after the present ones; false at the end of the source.
  bool fill() {
    if (kept_ > 0) {
      std::memmove(bytes_.data(), bytes_.data() + kept_, end_ - kept_);
      dropped_ += kept_;
      at_ -= kept_;
      end_ -= kept_;
      kept_ = 0;
    }
    std::size_t room = bytes_.size() - JsonPiece::padding;
    if (end_ == room) {
      if (room >= value_bytes_max_)
        fail_within_value(
            fmt::format("expected values of at most {} bytes, got a longer one", value_bytes_max_));
      room = std::min(2 * room, value_bytes_max_);
      bytes_.resize(room + JsonPiece::padding);
    }
    std::size_t count = source_.read(gsl::span(bytes_.data() + end_, room - end_));
    end_ += count;
    return count > 0;
  }

  void need_more() {
    if (!fill()) fail_within_value("expected the end of a value, got the end of the file");
  }

  // A quote without its escape makes a value seem to go on: says the first place that isn't JSON.
  [[noreturn]] void fail_within_value(std::string_view what) const {
    try {
      JsonRepairs repairs;
      repaired_json({bytes_.data() + kept_, end_ - kept_}, repairs);
    } catch (const JsonFault& fault) {
      if (!fault.is_at_end)
        throw BadTrace("json", "replay/json",
                       fmt::format("{}: byte {}: {}", source_.name(),
                                   dropped_ + kept_ + fault.offset, fault.message));
    }
    fail(what);
  }

  void skip_text() {
    ++at_;
    while (true) {
      const char* begin = bytes_.data() + at_;
      const auto* quote = static_cast<const char*>(std::memchr(begin, '"', end_ - at_));
      const auto* escape = static_cast<const char*>(
          std::memchr(begin, '\\', quote ? std::size_t(quote - begin) : end_ - at_));
      if (escape) {
        at_ += std::size_t(escape - begin) + 1;
        while (at_ >= end_) need_more();
        ++at_;
      } else if (quote) {
        at_ += std::size_t(quote - begin) + 1;
        return;
      } else {
        at_ = end_;
        need_more();
      }
    }
  }

  void skip_nested() {
    JsonExtent extent;
    while (true) {
      auto count = extent.find_end({bytes_.data() + at_, end_ - at_});
      at_ = count ? at_ + *count : end_;
      if (count) return;
      need_more();
    }
  }

  void skip_scalar() {
    while (true) {
      while (at_ < end_ && !ends_scalar(bytes_[at_])) ++at_;
      if (at_ < end_) break;
      need_more();
    }
    if (at_ == kept_)
      fail(fmt::format("expected a value, got '{}'", shown_bytes({&bytes_[at_], 1})));
  }

  ByteSource& source_;
  std::size_t value_bytes_max_;
  std::vector<char> bytes_;
  std::size_t kept_ = 0;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::size_t dropped_ = 0;  // bytes before the window
};

void read_list(Window& window, std::string_view key, const JsonVisitor& visitor) {
  window.expect('[');
  if (visitor.list) visitor.list(key);
  if (window.take_if(']')) return;
  do {
    JsonPiece element = window.value();
    if (visitor.element) visitor.element(key, element);
  } while (window.take_if(','));
  window.expect(']');
}

void read_bare_list(Window& window, const JsonVisitor& visitor) {
  window.expect('[');
  if (visitor.list) visitor.list(visitor.bare_list);
  while (!window.only_space_is_left() && !window.take_if(']')) {
    JsonPiece element = window.value();
    if (visitor.element) visitor.element(visitor.bare_list, element);
    if (window.only_space_is_left()) return;
    if (!window.take_if(',') && window.peek() != ']') window.expect(',');
  }
}

void read_members(Window& window, const JsonVisitor& visitor) {
  window.expect('{');
  if (window.take_if('}')) return;
  do {
    char first = window.peek();
    if (first != '"')
      window.fail(fmt::format("expected a key, got '{}'", shown_bytes({&first, 1})));
    std::string_view quoted = window.value().text;
    std::string key(quoted.substr(1, quoted.size() - 2));
    window.expect(':');
    if (window.peek() == '[') {
      read_list(window, key, visitor);
      continue;
    }
    JsonPiece value = window.value();
    if (visitor.value) visitor.value(key, value);
  } while (window.take_if(','));
  window.expect('}');
}

}  // namespace

void read_json_object(ByteSource& source, const JsonVisitor& visitor, std::size_t value_bytes_max) {
  Window window(source, value_bytes_max);
  char first = window.peek();
  if (first == '[' && !visitor.bare_list.empty()) {
    read_bare_list(window, visitor);
  } else if (first == '{') {
    read_members(window, visitor);
  } else {
    throw BadTrace("top_level", "replay/json",
                   fmt::format("{}: expected an object, got text that begins with '{}'",
                               source.name(), shown_bytes({&first, 1})));
  }
  if (!window.only_space_is_left()) window.fail("expected the end of the file, got more");
}

}  // namespace simmesh::replay
