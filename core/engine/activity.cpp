#include "core/engine/activity.h"

#include <fmt/format.h>

namespace simmesh {

std::string describe(const Activity& activity, RankId rank) {
  std::string text = fmt::format("{} #{}", activity.operation, activity.sequence);
  if (activity.waits_for) {
    text += fmt::format(" of {}", activity.waits_for->group());
    if (std::string operand = activity.waits_for->operand(rank); !operand.empty())
      text += ", " + operand;
  }
  return text + fmt::format(", {}", to_string(activity.site));
}

}  // namespace simmesh
