#include "replay/read/json_keys.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "replay/read/json_extent.h"

namespace simmesh::replay {

namespace {

// KeyScanner walks over the members of an object.
class KeyScanner {
 public:
  explicit KeyScanner(std::string_view text) : text_(text) {}

  JsonKeys scan() {
    char first = next();
    if (first == '[') {
      keys_.is_list = true;
      ++at_;
      first = next();
      if (first == ']') return end(JsonKeys::End::whole);
    }
    if (at_ >= text_.size()) return end(at_ == 0 ? JsonKeys::End::not_json : JsonKeys::End::cut);
    bool begins_value = std::string_view("[\"-0123456789tfn").find(first) != std::string_view::npos;
    if (first != '{')
      return end(keys_.is_list && begins_value ? JsonKeys::End::whole : JsonKeys::End::not_json);
    ++at_;
    if (next() == '}') return end(JsonKeys::End::whole);
    while (true) {
      if (std::optional<JsonKeys::End> ended = member()) return end(*ended);
      char after = next();
      if (after == '}') return end(JsonKeys::End::whole);
      if (at_ >= text_.size()) return end(JsonKeys::End::cut);
      if (after != ',') return end(JsonKeys::End::not_json);
      ++at_;
    }
  }

 private:
  JsonKeys end(JsonKeys::End how) {
    keys_.end = how;
    return keys_;
  }

  // next skips white space and returns the byte after it, 0 at the end.
  char next() {
    std::size_t place = text_.find_first_not_of(" \t\r\n", at_);
    at_ = place == std::string_view::npos ? text_.size() : place;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  // skip_text moves past a text; false where it has no end.
  bool skip_text() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\')
        ++at_;
      else if (text_[at_] == '"')
        break;
    }
    if (at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  // member reads a key and moves past its value.
  std::optional<JsonKeys::End> member() {
    char first = next();
    if (at_ >= text_.size()) return JsonKeys::End::cut;
    if (first != '"') return JsonKeys::End::not_json;
    std::size_t begin = at_ + 1;
    if (!skip_text()) return JsonKeys::End::cut;
    std::string_view name = text_.substr(begin, at_ - 1 - begin);
    char colon = next();
    if (at_ >= text_.size()) return JsonKeys::End::cut;
    if (colon != ':') return JsonKeys::End::not_json;
    ++at_;
    char value = next();
    if (at_ >= text_.size()) return JsonKeys::End::cut;
    keys_.keys.push_back({name, value});
    return skip_value(value) ? std::nullopt : std::optional(JsonKeys::End::cut);
  }

  bool skip_value(char first) {
    if (first == '"') return skip_text();
    if (first == '{' || first == '[') {
      JsonExtent extent;
      std::optional<std::size_t> length = extent.find_end(text_.substr(at_));
      at_ = length ? at_ + *length : text_.size();
      return length.has_value();
    }
    at_ = std::min(text_.find_first_of(",}] \t\r\n", at_), text_.size());
    return at_ < text_.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  JsonKeys keys_;
};

}  // namespace

JsonKeys json_keys(std::string_view text) { return KeyScanner(text).scan(); }

}  // namespace simmesh::replay
