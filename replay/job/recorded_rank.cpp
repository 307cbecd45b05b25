#include "replay/job/recorded_rank.h"

#include "replay/job/majority.h"

namespace simmesh::replay {

RankField rank_field(CommKind kind) {
  switch (kind) {
    case CommKind::broadcast:
    case CommKind::reduce:
    case CommKind::gather:
    case CommKind::scatter: return RankField::root;
    case CommKind::send:
    case CommKind::recv: return RankField::peer;
    case CommKind::unknown:
    case CommKind::init: return RankField::nothing;
    default: return RankField::own_rank;
  }
}

std::optional<std::int64_t> recorded_rank(const ExecutionTrace& trace, const JobGroups& groups,
                                          const std::vector<JobComm>& comms) {
  std::vector<std::int64_t> votes;
  for (const JobComm& each : comms) {
    const TraceComm& comm = *trace.comm_of(trace.nodes[each.node]);
    if (!each.group || rank_field(comm_kind(trace.text(comm.name))) != RankField::own_rank)
      continue;
    const std::vector<std::int64_t>& members = groups.groups[*each.group].members;
    if (comm.rank >= 0 && comm.rank < std::int64_t(members.size()))
      votes.push_back(members[std::size_t(comm.rank)]);
  }
  if (votes.empty()) return std::nullopt;
  return majority(votes);
}

}  // namespace simmesh::replay
