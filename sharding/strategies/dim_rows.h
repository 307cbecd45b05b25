#pragma once

#include <gsl/span>
#include <optional>

#include "sharding/strategies/strategy.h"

namespace simmesh {

// Rows of ops that work along some dims of their first input and treat the other dims one by one.

// common_dim_row is the row in which every defined tensor of the call is split along one dim of its
// own.
StrategyRow common_dim_row(const StrategyRequest& call, std::int64_t dim);

// kept_dim_rows are these rows for all dims of the first input except the excluded ones.
StrategyRows kept_dim_rows(const StrategyRequest& call, DimSpan excluded = {});

// along_dim is the strategy of an op that works along one dim, its attribute "dim": scans, sorts,
// softmax. Its inputs and outputs may be split along all others, and shards may be empty.
ShardingStrategy along_dim(StrategyRows partial = {});

// reduction_rows are the rows of a reduction over the attributes "dims" and "keepdim": dims that
// stay may be split, in all outputs alike. Where a partial placement is given, the reduced dims may
// be split too, and the outputs have that placement.
StrategyRows reduction_rows(const StrategyRequest& call,
                            const std::optional<Placement>& partial = {});

// reduction is the strategy of a reduction whose parts can't be combined. Shards may be empty.
ShardingStrategy reduction();

// linear_in returns those of the rows that hold for the dtypes of a call: an average of integers is
// rounded, and a sum of truth values is their disjunction, so an op on parts of either isn't
// linear.
StrategyRows linear_in(const StrategyRequest& call, StrategyRows rows);

}  // namespace simmesh
