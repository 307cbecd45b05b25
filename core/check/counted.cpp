#include "core/check/counted.h"

#include <fmt/format.h>

namespace simmesh {

std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace simmesh
