#pragma once

#include <string>
#include <string_view>

namespace simmesh {

// json_fault returns the words of the JSON library for text that isn't JSON, without its marks:
// "a syntax error at line 1, column 4, while parsing value - unexpected end of input". The
// argument is the text of its exception.
std::string json_fault(std::string_view words);

}  // namespace simmesh
