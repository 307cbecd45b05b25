#pragma once

#include "sharding/propagation/propagation_request.h"
#include "sharding/strategies/strategy.h"

namespace simmesh {

// Moves says whether a candidate counts that moves an input.
enum class Moves : bool { left_out, allowed };

// choose_rows returns the candidate that propagate takes among those that the rows of one mesh dim
// give, one row for each mesh dim; empty where none fits. Rows are searched branch by branch; a
// branch that can't become cheaper than the best is skipped. Where moves are left out, it is empty
// or any candidate if that one would move an input.
std::optional<MeshCandidate> choose_rows(const PropagationRequest& request,
                                         const MeshRequest& mesh_request, const StrategyRows& rows,
                                         const ShardingStrategy& strategy, Moves moves);

// choose_candidate returns the candidate that propagate takes among those over all mesh dims.
std::optional<MeshCandidate> choose_candidate(const PropagationRequest& request,
                                              const MeshRequest& mesh_request,
                                              std::vector<MeshCandidate> candidates,
                                              const ShardingStrategy& strategy);

}  // namespace simmesh
