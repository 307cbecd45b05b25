#include "core/check/call_site.h"

#include <fmt/format.h>
#include <string_view>

namespace simmesh {

std::string to_string(const CallSite& site) {
  std::string_view path = site.file;
  if (auto slash = path.rfind('/'); slash != path.npos) path.remove_prefix(slash + 1);
  return fmt::format("{}:{}", path, site.line);
}

}  // namespace simmesh
