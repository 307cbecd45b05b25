#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "replay/analysis/job_collectives.h"
#include "replay/trace/finding.h"

namespace simmesh::replay {

// TimelineCheck is a condition that timelines must keep, and how much was compared for it.
struct TimelineCheck {
  std::string_view rule;     // of its findings: "timeline_order"
  std::size_t compared = 0;  // collectives, or communications; nothing was checked where it is 0
};

// TimelineChecks is what the timelines of a job say about themselves.
struct TimelineChecks {
  std::vector<TimelineCheck> checks;
  Findings findings;
};

// check_timelines checks the communications of recorded timelines: that the ranks of a group have
// the same ones in the same order ("timeline_order") with the same bytes, and with splits that add
// up ("timeline_sizes"), that each rank is in its groups ("timeline_groups"), and that parts which
// leave together have a moment in common ("timeline_overlap"). Of each rank and group the first
// difference is said. Warnings are about ranks without a timeline ("timeline_ranks") and timelines
// without events of a device ("timeline_device").
TimelineChecks check_timelines(const JobTimeline& job,
                               const std::vector<JobCollective>& collectives);

// has_device is true if a timeline has activities of a device. Communications on the host, as those
// of gloo, are none.
bool has_device(const RankTimeline& rank);

}  // namespace simmesh::replay
