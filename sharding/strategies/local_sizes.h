#pragma once

#include <string_view>

#include "sharding/strategies/strategy.h"

namespace simmesh {

// local_sizes is the rule of an op that has the shape of its first output as an argument: a rank
// calls it with the shape of its piece.
LocalAttributes local_sizes(const Attribute<Dims>& which);

}  // namespace simmesh
