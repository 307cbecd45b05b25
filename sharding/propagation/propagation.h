#pragma once

#include <optional>
#include <vector>

#include "sharding/propagation/propagation_request.h"
#include "sharding/strategies/strategy.h"

namespace simmesh {

// Propagation is the result of propagate: the shardings to which the inputs are redistributed,
// those of the outputs, and the cost of the redistributions.
struct Propagation {
  const ShardingStrategy* strategy = nullptr;
  std::vector<std::optional<Sharding>> inputs;
  std::vector<std::optional<Sharding>> outputs;
  TensorTypes output_types;
  bool moves_inputs = false;  // whether any input has another sharding
  double cost_us = 0.0;
};

// propagate chooses, among all candidates that an op's strategy gives, the one to which
// redistributing the inputs costs least, as PyTorch does: first one with a negative cost, then one
// that moves nothing (the last of those), then the first of the cheapest, in the order of the rows,
// the last mesh dim fastest. It is a pure function of the request: all ranks choose the same.
//
// Raises what the op's shape rule raises, a NotImplementedError where the op has no strategy, and a
// RuntimeError where no candidate fits: in place where the tensor would have to move.
Propagation propagate(const PropagationRequest& request);

// propagate_unmoved returns what propagate does where that moves no input, and nothing where it
// moves one or finds no candidate. It prices no candidate that moves inputs.
std::optional<Propagation> propagate_unmoved(const PropagationRequest& request);

}  // namespace simmesh
