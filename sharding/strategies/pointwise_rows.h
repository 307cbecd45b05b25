#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// elementwise_rows returns the rows of an op whose inputs are broadcast to its outputs: every dim
// of the result may be split, with each input that has the dim split along it and the others
// replicated. The partial rows follow that have as many inputs as the call has tensors; their entry
// for an output stands for all outputs.
StrategyRows elementwise_rows(const StrategyRequest& call, const StrategyRows& partial = {});

// elementwise returns the strategy of such an op, if it computes: it has no rows of partial
// averages of integers. Shards may be empty.
ShardingStrategy elementwise(StrategyRows partial = {});

// passing returns the strategy of an op of one tensor that returns its elements unchanged.
ShardingStrategy passing();

}  // namespace simmesh
