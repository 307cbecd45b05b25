#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/engine/reports/outcome.h"
#include "core/engine/schedules/schedule.h"

namespace simmesh {

// FailingRun runs something under a schedule with recorded choices. It returns the outcome of a
// failure, and nullopt if the run passed.
using FailingRun = std::function<std::optional<Outcome>(const Schedule& schedule)>;

// ShrunkSchedule is the shortest failing schedule that was found.
struct ShrunkSchedule {
  std::vector<RankId> turns;  // the list of a guided schedule
  Outcome outcome;            // its choices replay the whole schedule
};

// ShrinkRequest has the choices of a failing run, and the most runs in which to shrink them.
struct ShrinkRequest {
  std::vector<RankId> choices;
  std::uint64_t runs_max = 2'000;
};

// shrink_schedule looks for a short list of turns that still fails, by delta debugging (Zeller and
// Hildebrandt, TSE 2002). It runs no list twice, so `run` must depend on the schedule alone. It
// returns nullopt if the guided schedule of the choices doesn't fail.
std::optional<ShrunkSchedule> shrink_schedule(const ShrinkRequest& request, const FailingRun& run);

}  // namespace simmesh
