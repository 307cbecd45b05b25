#pragma once

#include "sharding/strategies/strategy.h"

namespace simmesh {

// derived_rows returns those of the rows that PyTorch finds for an op without a strategy. There it
// runs the op's decomposition with each combination of candidates; a combination is a row if no
// step moves a tensor. The candidates of an input are R, each placement that some input has, and
// shards of all dims if some input has a shard. So a row has a partial input only where some input
// is partial in that way.
//
// The rows come in the order of the combinations, the last input fastest: shards by their dims,
// then partial placements, then R. Of rows that cost the same, pieces thus win over the whole.
StrategyRows derived_rows(StrategyRows rows, gsl::span<const std::optional<Placements>> given);

}  // namespace simmesh
