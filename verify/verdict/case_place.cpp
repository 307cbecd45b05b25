#include "verify/verdict/case_place.h"

#include <fmt/format.h>

namespace simmesh {

std::string to_string(const CasePlace& place) {
  return fmt::format("{}:{}", place.file, place.line);
}

}  // namespace simmesh
