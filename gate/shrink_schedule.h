#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/engine/outcome.h"
#include "core/engine/schedule.h"

namespace simmesh {

// guided_schedule lets the ranks of a list go in that order, leaves out those that can't run when
// their turn comes, and goes on first come, first served. With an empty list it is FIFO.
Schedule guided_schedule(std::vector<RankId> turns);

// FailingRun runs something under a schedule with recorded choices, and returns the outcome where
// it fails.
using FailingRun = std::function<std::optional<Outcome>(const Schedule& schedule)>;

// ShrunkSchedule is a failing schedule from which no turn can be left out.
struct ShrunkSchedule {
  std::vector<RankId> turns;  // of a guided schedule
  Outcome outcome;            // its choices replay the schedule as a whole
};

// shrink_schedule looks for the shortest list of turns that still fails, by delta debugging (Zeller
// and Hildebrandt, TSE 2002) over the choices of a failing run. At most so many runs. Nothing where
// the guided schedule of these choices doesn't fail.
struct ShrinkRequest {
  std::vector<RankId> choices;
  std::uint64_t runs_max = 2'000;
};
std::optional<ShrunkSchedule> shrink_schedule(const ShrinkRequest& request, const FailingRun& run);

}  // namespace simmesh
