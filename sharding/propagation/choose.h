#pragma once

#include "sharding/propagation/propagation_request.h"
#include "sharding/strategies/strategy.h"

namespace simmesh {

// choose_rows returns the candidate that propagate takes among those that the rows of one mesh dim
// give, one row for each mesh dim; empty where none fits. Rows are searched branch by branch; a
// branch that can't become cheaper than the best is skipped.
std::optional<MeshCandidate> choose_rows(const PropagationRequest& request,
                                         const MeshRequest& mesh_request, const StrategyRows& rows,
                                         const ShardingStrategy& strategy);

// choose_candidate returns the candidate that propagate takes among those over all mesh dims.
std::optional<MeshCandidate> choose_candidate(const PropagationRequest& request,
                                              const MeshRequest& mesh_request,
                                              std::vector<MeshCandidate> candidates,
                                              const ShardingStrategy& strategy);

}  // namespace simmesh
