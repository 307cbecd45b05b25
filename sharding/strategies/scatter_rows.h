#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// scatter_rows are the rows of the ops that write a source [i][j] at [i][index[i][j]] along "dim":
// any other dim may be split in all tensors alike, if it has one size in all of them.
StrategyRows scatter_rows(const StrategyRequest& call);

}  // namespace simmesh
