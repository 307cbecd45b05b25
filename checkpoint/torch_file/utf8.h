#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace simmesh::checkpoint {

// is_utf8 is true for a text in UTF-8. Halves of surrogate pairs count as characters, since Python
// pickles them so.
bool is_utf8(std::string_view text);

// append_utf8 adds a character by its number, which must be below 0x110000.
void append_utf8(std::string& text, char32_t character);

// latin1_of returns a text in UTF-8 as bytes, one for each character. Returns nullopt for a
// character that has no such byte, and for other texts.
std::optional<std::string> latin1_of(std::string_view text);

// with_replacements returns a text with U+FFFD for bytes that aren't UTF-8, and for halves of
// surrogate pairs, which JSON doesn't have.
std::string with_replacements(std::string_view text);

}  // namespace simmesh::checkpoint
