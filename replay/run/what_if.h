#pragma once

#include <optional>
#include <vector>

#include "replay/run/job_costs.h"

namespace simmesh::replay {

// WhatIf names a change to a job, of which several may come together.
struct WhatIf {
  // Other links, or other figures of the same.
  std::optional<Topology> topology = {};
  // How collectives send their bytes, and whether all-to-alls cut them evenly.
  CommChoices choices = {};
  // Every rank comes to each collective when the first one did: what a late rank computes before it
  // is shortened by as much, as far as there is any, and one that begins late begins earlier.
  bool perfect_arrival = false;
  // All computation takes so many times as long.
  double computation_factor = 1;
};

// WhatIfTimes is what a change makes of a job's step, before and after.
struct WhatIfTimes {
  // Times are the figures of a step.
  struct Times {
    double step_us = 0;     // from the begin to the rank's last operation
    double exposed_us = 0;  // communication during which the rank computes nothing
  };
  // RankTimes are those of one rank.
  struct RankTimes {
    Times before, after;
  };
  std::vector<RankTimes> ranks;
  Times before, after;  // the longest step of a rank, and the most exposed communication
  JobCosts costs;       // after
};

// what_if simulates a program before and after a change. Costs are those before, and `topology` the
// links that they stand for: a change of links, algorithm or splits scales the cost of a
// communication by what Topology's formulas make of it, so costs that were modelled by it become
// exactly those of the new one, and recorded ones keep what the formulas don't know. Raises a
// ValueError for a job that never ends, and for a factor that is negative.
WhatIfTimes what_if(const ReplayProgram& program, const JobMeetings& meetings,
                    const JobCosts& costs, const Topology& topology, const WhatIf& change);

}  // namespace simmesh::replay
