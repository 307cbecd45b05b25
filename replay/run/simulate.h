#pragma once

#include <vector>

#include "core/clock/device_report.h"
#include "replay/run/job_costs.h"
#include "replay/timeline/timeline.h"

namespace simmesh::replay {

// SimulatedJob is the times of a program under given costs.
struct SimulatedJob {
  std::vector<DeviceReport> reports;  // by rank; without memory
  JobTimeline timeline;

  // step_us returns the time from a rank's begin to when its last operation ends.
  double step_us(std::size_t rank) const { return timeline.ranks[rank].steps[0].length_us(); }
  // is_complete is true if all operations end: not in a job that would hang.
  bool is_complete() const;
};

// simulate gives each operation of a program its time, by resolve_times. Operators and
// communications that the program waits for at once are on the first stream of their rank, others
// on a stream of their group, one after another; a wait makes the first stream wait. No data moves,
// so programs may have any size.
SimulatedJob simulate(const ReplayProgram& program, const JobMeetings& meetings,
                      const JobCosts& costs);

}  // namespace simmesh::replay
