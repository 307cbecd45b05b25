#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// strategy_of returns how an op runs on distributed tensors: the strategy that an op of one's own
// brings along, or that of an op of the library. Null where an op has none.
const ShardingStrategy* strategy_of(const Op& op);

}  // namespace simmesh
