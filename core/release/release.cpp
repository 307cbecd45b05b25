#include "core/release/release.h"

#include "core/check/error.h"

namespace simmesh {

std::string_view to_string(Release release) {
  switch (release) {
    case Release::v2_13: return "2.13";
    case Release::v2_15: return "2.15";
  }
  return "";
}

Release parse_release(std::string_view text) {
  for (Release release : releases)
    if (to_string(release) == text) return release;
  raise(ErrorKind::value_error, "release", "expected 2.13 or 2.15, got '{}'", text);
}

}  // namespace simmesh
