#pragma once

#include "replay/trace/finding.h"
#include "replay/validate/group_traffic.h"

namespace simmesh::replay {

// match_messages matches the sends of a group with its receives: the k-th send of one rank to
// another with the k-th receive there from the first. Receives from any rank take the rest. It adds
// to findings:
// - p2p_unmatched: a send that nobody receives, a receive that nobody sends;
// - dtype, size_relation: of a pair.
// Messages with ranks whose traces are missing are left out. O(messages * log).
void match_messages(const JobView& view, const GroupTraffic& traffic, Findings& findings);

}  // namespace simmesh::replay
