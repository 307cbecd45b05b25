#include "core/engine/reports/activity.h"

#include <fmt/format.h>

namespace simmesh {

std::string describe(const Activity& activity, RankId rank) {
  std::string peer = activity.waits_for ? activity.waits_for->peer() : "";
  std::string text = peer.empty() ? fmt::format("{} #{}", activity.operation, activity.sequence)
                                  : fmt::format("{} {}", activity.operation, peer);
  if (activity.waits_for) {
    if (std::string group = activity.waits_for->group(); !group.empty()) text += " of " + group;
    if (std::string operand = activity.waits_for->operand(rank); !operand.empty())
      text += ", " + operand;
  }
  return text + fmt::format(", {}", to_string(activity.site));
}

}  // namespace simmesh
