#pragma once

#include <string_view>

namespace simmesh {

// SchedulePolicyKind names how an exploration chooses its schedules: mixed alternates
// between random and pct, the others are the schedules of their names.
enum class SchedulePolicyKind { mixed, random, pct, pos, walk };

// schedule_policy_kind reads "mixed", "random", "pct", "pos" or "walk". Raises a ValueError that
// lists these.
SchedulePolicyKind schedule_policy_kind(std::string_view text);

}  // namespace simmesh
