#pragma once

#include <gsl/span>
#include <string>
#include <vector>

#include "core/clock/clock.h"
#include "core/engine/options/world_options.h"
#include "core/engine/reports/outcome.h"
#include "core/trace/trace.h"

namespace simmesh {

// trace_events_max returns the number of events that a run keeps: the option, and at least a
// million if a trace file is written or a RunObserver sees the run.
std::size_t trace_events_max(const WorldOptions& options);

// RunRecords are the records of a run for its trace file.
struct RunRecords {
  const WorldOptions& options;
  const Outcome& outcome;
  const Trace& events;
  // The simulated devices of the ranks that have one, and the numbers of these ranks.
  gsl::span<const Clock* const> clocks;
  gsl::span<const RankId> ranks;
};

// run_trace returns a run in Chrome's trace format. Each rank is a process. Without simulated
// devices its one track has the engine's events, with steps of the schedule as time. With devices
// there is a track for each of its streams, with the operations in simulated time; the engine's
// events are there too if the run failed, because operations then end where the failure was.
// otherData has the program, the end of the run, and the number of the oldest events that were
// dropped.
std::string run_trace(const RunRecords& run);

}  // namespace simmesh
