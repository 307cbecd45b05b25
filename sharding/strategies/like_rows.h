#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// follow_input is the rule of ops that make a tensor like their first input, whose elements don't
// matter: the input isn't moved, and the output is sharded as it is, replicated where it is
// partial. A tensor of another shape is replicated.
std::vector<MeshCandidate> follow_input(const MeshRequest& request);

}  // namespace simmesh
