#pragma once

#include <gsl/span>

#include "core/engine/options/world_options.h"
#include "core/engine/reports/outcome.h"
#include "core/engine/run/rank_threads.h"
#include "core/engine/seats/seat.h"
#include "core/trace/trace.h"

namespace simmesh {

// add_rank_results fills in the parts of an outcome that the ranks of a run give: hash of the data,
// bytes, copies, the figures of a world of shapes only, and the reports of devices, whose times are
// left out if the run has failed.
void add_rank_results(Outcome& outcome, const WorldOptions& options, gsl::span<Seat> seats,
                      const RankThreads& threads);

// write_trace_file writes the trace of a run to WorldOptions::trace_file, if that is given, and
// shows its records to the RunObserver, if there is one.
struct TracedRun {
  const WorldOptions& options;
  const Outcome& outcome;
  const Trace& trace;
  gsl::span<Seat> seats;
};
void write_trace_file(const TracedRun& run);

}  // namespace simmesh
