#include "checkpoint/catalog/tagged_value.h"

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::string_view opaque_tag = "$opaque";

void remove_marks(JsonValue& value, std::vector<std::string>& names) {
  if (tag_of(value) == opaque_tag) {
    const auto* name = value.find(opaque_tag)->get<std::string>();
    names.push_back(name == nullptr ? "" : *name);
    value = JsonValue();
  } else if (auto* list = std::get_if<JsonValue::List>(&value.value)) {
    for (JsonValue& entry : *list) remove_marks(entry, names);
  } else if (auto* object = std::get_if<JsonValue::Object>(&value.value)) {
    std::erase_if(*object, [&](auto& member) {
      bool is_mark = tag_of(member.second) == opaque_tag;
      remove_marks(member.second, names);
      return is_mark;
    });
  }
}

int digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

}  // namespace

JsonValue tagged(std::string_view tag, JsonValue value) {
  JsonValue::Object object;
  object.emplace_back(tag, std::move(value));
  return {std::move(object)};
}

std::string_view tag_of(const JsonValue& value) {
  const auto* object = value.get<JsonValue::Object>();
  if (object == nullptr || object->size() != 1) return "";
  std::string_view key = object->front().first;
  return key.starts_with('$') && !key.starts_with("$$") ? key : "";
}

JsonValue opaque_value(std::string_view class_name) { return tagged(opaque_tag, class_name); }

std::string hexadecimal_text(std::string_view bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string bytes_of_hexadecimal(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    int high = digit_value(digits[i]),
        low = i + 1 < digits.size() ? digit_value(digits[i + 1]) : -1;
    if (high < 0 || low < 0)
      raise(ErrorKind::value_error, "checkpoint/value",
            "expected pairs of hexadecimal digits, got '{}'", digits.substr(i, 2));
    bytes += char(high << 4 | low);
  }
  return bytes;
}

std::vector<std::string> remove_opaque(JsonValue& value) {
  std::vector<std::string> names;
  remove_marks(value, names);
  return names;
}

}  // namespace simmesh::checkpoint
