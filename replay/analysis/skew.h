#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replay/analysis/job_collectives.h"

namespace simmesh::replay {

// PartSkew is when one rank came to a collective and left it.
struct PartSkew {
  CommPart part;
  double start_us = 0;  // after the first rank came
  double length_us = 0;
  // The time that it waited for others: its length beyond the shortest one of the collective.
  // nullopt where parts of the collective are missing.
  std::optional<double> wait_us;
};

// CollectiveSkew is how far apart the ranks of a collective came to it and left it. All leave at
// about the same time, so a rank that comes late has a short kernel, and the others wait for it.
struct CollectiveSkew {
  std::vector<PartSkew> parts;  // by rank
  std::int64_t members = 0;     // that take part; 0 where unknown
  double start_spread_us = 0;   // of the parts that are there
  double end_spread_us = 0;
  // The time in which its bytes move; nullopt where parts are missing.
  std::optional<double> shortest_us;
  // Who came last; the lowest rank if there are several, nullopt where that can't be known
  // (last_part in job_collectives.h).
  std::optional<std::int64_t> last_rank;
};

// JobSkew is the skew of all collectives of a job, and its sums over all ranks. Waiting is that in
// collectives of which all parts are there.
struct JobSkew {
  std::vector<CollectiveSkew> collectives;
  double comm_us = 0;
  double comm_known_us = 0;  // of the collectives whose waiting is known
  double wait_us = 0;
  std::size_t waits_unknown = 0;  // collectives of which parts are missing
  std::size_t lasts_unknown = 0;  // collectives of which nobody knows who came last
  // By place in JobTimeline::ranks: the number of collectives to which the rank came last, and the
  // time that others waited in those.
  std::vector<std::int64_t> times_last;
  std::vector<double> caused_wait_us;
};

// skew_of returns the skew of each collective. Clocks of different hosts may differ; waiting is
// measured by lengths alone, which doesn't depend on clocks.
JobSkew skew_of(const JobTimeline& job, const std::vector<JobCollective>& collectives);

}  // namespace simmesh::replay
