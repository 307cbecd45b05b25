#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replay/job/job_group.h"
#include "replay/trace/comm_kind.h"
#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// RankField is what the rank of a communication node says.
enum class RankField : std::uint8_t { nothing, own_rank, root, peer };

// rank_field returns what the rank of a communication of a kind is: the root's of broadcast,
// reduce, gather and scatter, the other side's of send and recv, else the own one.
RankField rank_field(CommKind kind);

// recorded_rank returns the global rank that a trace says it is of: what most of its communications
// with their own rank name. nullopt where none does.
std::optional<std::int64_t> recorded_rank(const ExecutionTrace& trace, const JobGroups& groups,
                                          const std::vector<JobComm>& comms);

}  // namespace simmesh::replay
