#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// Look-ups in a table that is cut along the dim that is looked up: each rank takes the rows that it
// holds and zeros for the others, so that its result is an operand of a partial sum.

// lookup_row returns the row of an op that looks up its second input in its first.
//
//   lookup_row(call, 0)   // {Shard(0), MaskP(sum,[8,4],0)} -> MaskP(sum,[8,4],0)
StrategyRow lookup_row(const StrategyRequest& call, std::int64_t dim);

// looked_up calls the op on a rank's pieces. `dim` is the dim of the table that is looked up; where
// that isn't cut, it is a plain call. Raises an IndexError for an index that the whole table
// doesn't have.
std::vector<Tensor> looked_up(const LocalCall& call, std::int64_t dim);

}  // namespace simmesh
