#pragma once

#include <vector>

#include "replay/trace/finding.h"
#include "replay/validate/group_traffic.h"

namespace simmesh::replay {

// MemberComm is the communication of one member of a group in a collective.
struct MemberComm {
  std::int64_t index = 0;  // of the member in its group
  CommPlace place;
};

// compare_exchange checks a collective in which each member sends each other one a part of its own:
// one must send as many elements as the other receives. For an all_to_all the splits must be
// transposes of each other, rows times their length; for an all_gather of uneven tensors the list
// of each member must have the inputs' sizes, for a reduce_scatter the inputs' lists the outputs'.
// It blames the member that most of the mismatches have in common (rule "split_transpose"; for
// lists "size_relation"). Returns false, having checked nothing, where no member has splits or a
// list of uneven tensors. O(n^2) for n members with splits or lists of n entries, else O(n).
bool compare_exchange(const JobView& view, const JobGroup& group,
                      const std::vector<MemberComm>& members, Findings& findings);

}  // namespace simmesh::replay
