#pragma once

#include <optional>
#include <vector>

#include "sharding/propagation/propagation_request.h"
#include "sharding/strategies/strategy.h"

namespace simmesh {

// Propagation says where an op runs: the shardings that its inputs are brought to, those of its
// outputs, and what the redistributions cost.
struct Propagation {
  const ShardingStrategy* strategy = nullptr;
  std::vector<std::optional<Sharding>> inputs;
  std::vector<std::optional<Sharding>> outputs;
  TensorTypes output_types;
  bool moves_inputs = false;  // whether any input lies elsewhere
  double cost_us = 0.0;
};

// propagate chooses, of all candidates that an op's strategy gives, the one whose inputs cost least
// to reach, as PyTorch does: first of all one that costs less than nothing, then one that moves
// nothing (the last of those), then the first of the cheapest, in the order of the rows, the last
// mesh dim fastest. A pure function of the request: all ranks choose the same.
//
// Raises what the op's shape rule raises, a NotImplementedError where the op has no strategy, and a
// RuntimeError where no candidate fits: in place where the tensor would have to move.
Propagation propagate(const PropagationRequest& request);

}  // namespace simmesh
