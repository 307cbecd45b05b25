#pragma once

#include <cstdint>

#include "sharding/placement/placement.h"

namespace simmesh::paddle {

// optimizer_state_layout returns the placements of the states that an optimiser keeps for a
// parameter, where a sharding stage spreads them along mesh dim `sharding_dim`: that mesh dim cuts
// the first tensor dim that the parameter doesn't have cut already, whatever stood there. A
// parameter that has no such dim keeps its placements. Sizes don't count. (Paddle's
// get_placement_with_sharding.)
//
// Raises an IndexError for a mesh dim that isn't there and an AssertionError where the parameter is
// cut more than once.
Placements optimizer_state_layout(PlacementSpan parameter, std::int64_t tensor_dims,
                                  std::int64_t sharding_dim);

}  // namespace simmesh::paddle
