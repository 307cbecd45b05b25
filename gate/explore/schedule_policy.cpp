#include "gate/explore/schedule_policy.h"

#include "core/check/error.h"

namespace simmesh {

SchedulePolicyKind schedule_policy_kind(std::string_view text) {
  if (text == "mixed") return SchedulePolicyKind::mixed;
  if (text == "random") return SchedulePolicyKind::random;
  if (text == "pct") return SchedulePolicyKind::pct;
  if (text == "pos") return SchedulePolicyKind::pos;
  if (text == "walk") return SchedulePolicyKind::walk;
  raise(ErrorKind::value_error, "gate/explore",
        "expected the policy mixed, random, pct, pos or walk, got '{}'", text);
}

}  // namespace simmesh
