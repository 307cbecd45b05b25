#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// follow_input is the rule of ops that make a tensor like their first input, whose elements don't
// matter: the input stays where it is, and the output is cut as it is, replicated where that is
// partial. A tensor of another shape is replicated.
std::vector<MeshCandidate> follow_input(const MeshRequest& request);

}  // namespace simmesh
