#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replay/job/job_group.h"
#include "replay/trace/comm_kind.h"
#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// RankField is the meaning of the rank of a communication node.
enum class RankField : std::uint8_t { nothing, own_rank, root, peer };

// rank_field returns the meaning of the rank of a communication of a kind: the root's of broadcast,
// reduce, gather and scatter, the other side's of send and recv, else the own one.
RankField rank_field(CommKind kind);

// recorded_rank returns the global rank that most communications of a trace with their own rank
// name; nullopt where none does.
std::optional<std::int64_t> recorded_rank(const ExecutionTrace& trace, const JobGroups& groups,
                                          const std::vector<JobComm>& comms);

}  // namespace simmesh::replay
