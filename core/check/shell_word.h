#pragma once

#include <string>

namespace simmesh {

// shell_word quotes a word for a POSIX shell where it needs it.
std::string shell_word(const std::string& word);

}  // namespace simmesh
