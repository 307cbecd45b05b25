#pragma once

#include "sharding/propagation/propagation_request.h"
#include "sharding/strategies/strategy.h"

namespace simmesh {

// choose_rows returns the candidate that propagate takes of those that the rows of one mesh dim
// give, one row for each mesh dim; nothing where none fits. Rows are searched branch by branch:
// what can't become cheaper than the best is not looked at.
std::optional<MeshCandidate> choose_rows(const PropagationRequest& request,
                                         const MeshRequest& mesh_request, const StrategyRows& rows,
                                         const ShardingStrategy& strategy);

// choose_candidate returns the one that propagate takes of candidates over all mesh dims.
std::optional<MeshCandidate> choose_candidate(const PropagationRequest& request,
                                              const MeshRequest& mesh_request,
                                              std::vector<MeshCandidate> candidates,
                                              const ShardingStrategy& strategy);

}  // namespace simmesh
