#pragma once

#include <cstdint>
#include <string>

namespace simmesh {

// CasePlace is the place of a case: the file as it was named, and its line.
struct CasePlace {
  std::string file;
  std::int64_t line = 1;
};
// to_string returns "FILE:LINE".
std::string to_string(const CasePlace& place);

}  // namespace simmesh
