#pragma once

#include <cstdint>
#include <vector>

#include "replay/analysis/job_collectives.h"

namespace simmesh::replay {

// PartSkew is when one rank came to a collective and left it.
struct PartSkew {
  CommPart part;
  double start_us = 0;  // after the first rank came
  double length_us = 0;
  // The time that it waited for others: its length beyond the shortest one of the collective.
  double wait_us = 0;
};

// CollectiveSkew is how far apart the ranks of a collective came to it and left it. All leave at
// about the same time, so a rank that comes late has a short kernel, and the others wait for it.
struct CollectiveSkew {
  std::vector<PartSkew> parts;  // by rank
  double start_spread_us = 0;
  double end_spread_us = 0;
  double shortest_us = 0;
  std::int64_t last_rank = 0;  // who came last; the lowest rank if there are several
};

// JobSkew is the skew of all collectives of a job, and its sums over all ranks.
struct JobSkew {
  std::vector<CollectiveSkew> collectives;
  double comm_us = 0;
  double wait_us = 0;
  // By place in JobTimeline::ranks: the number of collectives to which the rank came last, and the
  // time that others waited in those.
  std::vector<std::int64_t> times_last;
  std::vector<double> caused_wait_us;
};

// skew_of returns the skew of each collective. Clocks of different hosts may differ; waiting is
// measured by lengths alone, which doesn't depend on clocks.
JobSkew skew_of(const JobTimeline& job, const std::vector<JobCollective>& collectives);

}  // namespace simmesh::replay
