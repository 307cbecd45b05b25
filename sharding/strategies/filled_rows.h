#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// filled_rows returns the rows with each Shard replaced by every kind of shard that the inputs
// have, a row for each; rows with shards are left out where no input has one, unless they split
// anew. A row of ragged shards exists where all shards of the row split dims 0 of one length. The
// row of replicated tensors comes first, unless the rows contain it.
StrategyRows filled_rows(StrategyRows rows, const StrategyRequest& call,
                         gsl::span<const std::optional<Placements>> given);

}  // namespace simmesh
