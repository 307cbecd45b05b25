#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// strategy_of returns the sharding strategy of an op: the one that a user's op brings along, or
// that of an op of the library. Null where an op has none.
const ShardingStrategy* strategy_of(const Op& op);

}  // namespace simmesh
