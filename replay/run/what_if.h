#pragma once

#include <optional>
#include <vector>

#include "replay/run/job_costs.h"

namespace simmesh::replay {

// WhatIf names a change to a job; several may be combined.
struct WhatIf {
  // Other links, or other figures of the same links.
  std::optional<Topology> topology = {};
  // The algorithm of collectives, and whether all-to-alls are cut evenly.
  CommChoices choices = {};
  // Every rank comes to each collective when the first one did: the computation of a late rank
  // before it is shortened by as much, as far as there is any, and a rank that begins late begins
  // earlier.
  bool perfect_arrival = false;
  // All computation takes so many times as long.
  double computation_factor = 1;
};

// WhatIfTimes are the times of a job's step before and after a change.
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
// links for which they hold: a change of links, algorithm or splits scales the cost of a
// communication by the ratio of Topology's formulas, so costs that were modelled by it become
// exactly those of the new one, and recorded ones keep what the formulas don't know. Raises a
// ValueError for a job that never ends, and for a negative factor.
WhatIfTimes what_if(const ReplayProgram& program, const JobMeetings& meetings,
                    const JobCosts& costs, const Topology& topology, const WhatIf& change);

}  // namespace simmesh::replay
