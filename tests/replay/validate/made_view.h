#pragma once

#include "replay/validate/check_comms.h"
#include "replay/validate/group_traffic.h"
#include "tests/replay/made_job.h"

namespace simmesh::testing {

// MadeView is a job with the data for the comparison across ranks; the job must live longer.
struct MadeView {
  explicit MadeView(const TraceJob& job)
      : groups(resolve_groups(job, found)), view(job, groups), faults(check_comms(view, found)) {}
  MadeView(const MadeView&) = delete;
  MadeView& operator=(const MadeView&) = delete;

  std::vector<replay::GroupTraffic> traffic() const { return group_traffic(view, found); }

  Findings found;
  replay::JobGroups groups;
  replay::JobView view;
  replay::CommFaults faults;
};

}  // namespace simmesh::testing
