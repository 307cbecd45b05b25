#include "core/check/one_line.h"

#include <cstddef>
#include <cstdint>

#include "core/check/append_text.h"

namespace simmesh {

namespace {

// Returns the bytes of the character at the begin of a text in UTF-8, 0 if there is none.
std::size_t character_bytes(std::string_view text) {
  auto first = std::uint8_t(text[0]);
  std::size_t count = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first > 0xf4 || count > text.size()) return 0;
  for (std::size_t i = 1; i < count; ++i)
    if (std::uint8_t(text[i]) >> 6 != 2) return 0;
  return count;
}

// True for control characters, line ends, and marks of direction.
bool changes_terminal(std::string_view character) {
  auto first = std::uint8_t(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  auto last = std::uint8_t(character.back());
  if (character.size() == 2) return first == 0xc2 && last < 0xa0;
  if (first != 0xe2 || std::uint8_t(character[1]) > 0x81) return false;
  if (std::uint8_t(character[1]) == 0x80)
    return last == 0x8e || last == 0x8f || (last >= 0xa8 && last <= 0xae);
  return last >= 0xa6 && last <= 0xa9;
}

// Returns the number of a character, by which JSON escapes it. None of those that change a terminal
// needs more than three bytes.
unsigned number_of(std::string_view character) {
  if (character.size() == 1) return std::uint8_t(character[0]);
  unsigned number = std::uint8_t(character[0]) & (character.size() == 2 ? 0x1fu : 0x0fu);
  for (char byte : character.substr(1)) number = number << 6 | (std::uint8_t(byte) & 0x3fu);
  return number;
}

}  // namespace

std::string printable_report(std::string_view report) {
  std::string text;
  for (std::size_t begin = 0; begin < report.size();) {
    std::size_t bytes = character_bytes(report.substr(begin));
    std::string_view character = report.substr(begin, bytes == 0 ? 1 : bytes);
    if (bytes == 0)
      append_text(text, "\\x{:02x}", std::uint8_t(character[0]));
    else if (character != "\n" && changes_terminal(character))
      append_text(text, "\\u{:04x}", number_of(character));
    else
      text += character;
    begin += character.size();
  }
  return text;
}

std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    std::size_t bytes = character_bytes(text);
    std::string_view character = text.substr(0, bytes == 0 ? 1 : bytes);
    if (character == "\n")
      line += "\\n";
    else if (bytes == 0 || changes_terminal(character))
      for (char byte : character) append_text(line, "\\x{:02x}", std::uint8_t(byte));
    else
      line += character;
    text.remove_prefix(character.size());
  }
  return line;
}

std::string markup(std::string_view text) {
  std::string result;
  for (char byte : text) {
    switch (byte) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(byte) >= ' ' || byte == '\n' || byte == '\t') result += byte;
    }
  }
  return result;
}

}  // namespace simmesh
