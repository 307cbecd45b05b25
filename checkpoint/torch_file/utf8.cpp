#include "checkpoint/torch_file/utf8.h"

#include <cstdint>

namespace simmesh::checkpoint {

namespace {

constexpr char32_t no_character = 0xffffffff;

// Removes a character from the front of a text, and returns it; no_character if there is none.
char32_t take_character(std::string_view& text) {
  auto first = std::uint8_t(text[0]);
  std::size_t count = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : 4;
  if ((count == 4 && first >> 3 != 30) || text.size() < count) return no_character;
  char32_t character = count == 1 ? first : first & (0x7fu >> count);
  for (std::size_t i = 1; i < count; ++i) {
    auto byte = std::uint8_t(text[i]);
    if (byte >> 6 != 2) return no_character;
    character = character << 6 | (byte & 0x3fu);
  }
  constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000};
  if (character < least[count - 1] || character >= 0x110000) return no_character;
  text.remove_prefix(count);
  return character;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty())
    if (take_character(text) == no_character) return false;
  return true;
}

void append_utf8(std::string& text, char32_t character) {
  if (character < 0x80) {
    text += char(character);
    return;
  }
  int count = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
  text += char(0xff00u >> count | character >> (6 * (count - 1)));
  for (int i = count - 2; i >= 0; --i) text += char(0x80 | (character >> (6 * i) & 0x3f));
}

std::string with_replacements(std::string_view text) {
  constexpr char32_t replacement = 0xfffd;
  std::string result;
  while (!text.empty()) {
    std::string_view before = text;
    char32_t character = take_character(text);
    if (character == no_character) {
      append_utf8(result, replacement);
      text = before.substr(1);
    } else if (character >= 0xd800 && character < 0xe000) {
      append_utf8(result, replacement);
    } else {
      result.append(before.substr(0, before.size() - text.size()));
    }
  }
  return result;
}

std::optional<std::string> latin1_of(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    char32_t character = take_character(text);
    if (character > 0xff) return std::nullopt;
    bytes += char(character);
  }
  return bytes;
}

}  // namespace simmesh::checkpoint
