#pragma once

#include <cstdint>
#include <vector>

#include "replay/trace/finding.h"
#include "replay/validate/job_view.h"

namespace simmesh::replay {

// MemberComms are the communications of one member of a group in it, in the order of its nodes.
struct MemberComms {
  std::int64_t index = 0;  // in the group
  std::uint32_t position = 0;
  std::vector<CommPlace> collectives;  // all but messages, waits and init
  std::vector<CommPlace> messages;     // send and recv
};

// GroupTraffic is the traffic of a group: one entry for each member whose trace the job has, in the
// order of the group. Traces in which some communication's group is unclear are left out, and so
// are those that don't have the group: they would differ from all others.
struct GroupTraffic {
  const JobGroup* group = nullptr;
  std::vector<MemberComms> members;
};

// group_traffic returns the traffic of each group of a job that any rank uses. findings are those
// of resolve_groups and check_comms, which name the ranks whose groups are unclear.
// O(communications + members of all groups).
std::vector<GroupTraffic> group_traffic(const JobView& view, const Findings& findings);

}  // namespace simmesh::replay
