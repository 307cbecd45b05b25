#include "core/engine/activity.h"

#include <fmt/format.h>

namespace simmesh {

std::string to_string(const Activity& activity) {
  std::string text = fmt::format("{} #{}", activity.operation, activity.sequence);
  if (activity.waits_for) text += fmt::format(" of {}", activity.waits_for->group());
  if (activity.shape)
    text += fmt::format(", {}{}", to_string(activity.dtype), to_string(DimSpan(*activity.shape)));
  return text + fmt::format(", {}", to_string(activity.site));
}

}  // namespace simmesh
