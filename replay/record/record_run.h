#pragma once

#include <functional>
#include <vector>

#include "core/engine/world.h"
#include "replay/job/trace_job.h"
#include "replay/record/recorded_rank.h"

namespace simmesh::replay {

// Recording is a run and the actions of its ranks: one execution trace a rank, also for a run that
// failed. The traces hold no times, so every schedule gives the same.
struct Recording {
  Outcome outcome;
  TraceJob job;
};

// record_run runs a body on every rank of a world and records it: schedule, data hash and charges
// are those of World::run. Raises a ValueError for a folded world, in which most ranks don't run.
//
//   World world({.ranks = 4});
//   replay::Recording recording = replay::record_run(world, [](Rank&) {
//     all_reduce(zeros({8}, DType::float32), ReduceOp::sum, ProcessGroup::world());
//   });
//   replay::write_job(recording.job, "traces");   // traces/rank-0.json.gz and so on
Recording record_run(World& world, const std::function<void(Rank&)>& body);

// RunRecorder does the same for a caller that runs the world itself. Each recorder is for one run.
class RunRecorder {
 public:
  // Raises a ValueError for the options of a folded world.
  explicit RunRecorder(const WorldOptions& options);

  // body wraps what the ranks run; the recorder must outlive the run. finish returns the traces
  // after it.
  std::function<void(Rank&)> body(std::function<void(Rank&)> body);
  TraceJob finish();

 private:
  std::vector<RecordedRank> ranks_;
};

}  // namespace simmesh::replay
