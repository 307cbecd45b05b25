#pragma once

#include "replay/trace/finding.h"
#include "replay/validate/group_traffic.h"

namespace simmesh::replay {

// first_divergence returns the finding "count" about a member that has more or fewer collectives in
// a group than another one: the first collective that only one of the two has. They are matched by
// the sequence numbers of their requests where both lists have rising ones and share most of them;
// else by name, dtype and sizes.
Finding first_divergence(const JobView& view, const JobGroup& group, const MemberComms& member,
                         const MemberComms& reference);

}  // namespace simmesh::replay
