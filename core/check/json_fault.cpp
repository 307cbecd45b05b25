#include "core/check/json_fault.h"

#include <algorithm>

namespace simmesh {

// The words are "[json.exception.parse_error.101] parse error at line 1, column 4: syntax error
// while parsing value - unexpected end of input"; some have no place, or another fault.
std::string json_fault(std::string_view words) {
  constexpr std::string_view mark = "[json.exception.", place_mark = "parse error at ",
                             syntax_mark = "syntax error ";
  if (words.starts_with(mark)) words.remove_prefix(std::min(words.find("] ") + 2, words.size()));
  if (!words.starts_with(place_mark)) return std::string(words);
  words.remove_prefix(place_mark.size());
  std::size_t end = words.find(": ");
  if (end == words.npos) return "a syntax error at " + std::string(words);
  std::string place(words.substr(0, end)), fault(words.substr(end + 2));
  if (fault.starts_with(syntax_mark)) fault.erase(0, syntax_mark.size());
  return "a syntax error at " + place + ", " + fault;
}

}  // namespace simmesh
