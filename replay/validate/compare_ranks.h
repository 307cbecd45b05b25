#pragma once

#include "replay/trace/finding.h"
#include "replay/validate/group_traffic.h"

namespace simmesh::replay {

// compare_ranks compares the collectives of a group across its members, as a detector of mismatched
// collectives does: the k-th of each member must be the same. What most members have counts as
// right; without a majority, what the first member has. It adds to findings, of each member the
// first divergence only, with the nodes of both sides:
// - count: a member has more collectives, or fewer, with the first one that others don't join;
// - order: another collective at the same place;
// and for each collective that is the same:
// - dtype, root: another dtype, another root;
// - size_relation: another number of elements, where all members must have the same one;
// - split_transpose: as compare_exchange says.
void compare_ranks(const JobView& view, const GroupTraffic& traffic, const CommFaults& faults,
                   Findings& findings);

}  // namespace simmesh::replay
