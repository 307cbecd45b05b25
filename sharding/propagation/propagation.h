#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock/topology.h"
#include "sharding/propagation/strategy.h"

namespace simmesh {

// PropagationRequest is all that the placements of a call depend on.
struct PropagationRequest {
  const Op* op = nullptr;
  Attributes attributes;
  TensorTypes inputs;                             // logical; absent ones are not defined
  std::vector<std::optional<Sharding>> given;     // nothing for absent ones
  Dims mesh_shape;
  Destination destination = Destination::fresh;
  std::optional<Sharding> out;  // of the tensor that is given
  // keeps_bits leaves out rows that compute with a part of a pending floating sum or average: such
  // a row is right up to rounding only, and in exact arithmetic nothing is.
  bool keeps_bits = false;
  Topology topology = {};

  bool operator==(const PropagationRequest& other) const;
};

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
// Throws what the op's shape rule throws, a NotImplementedError where the op has no strategy, and a
// RuntimeError where no candidate fits: in place where the tensor would have to move.
Propagation propagate(const PropagationRequest& request);

// to_string returns "mm: S(0),R and R,S(0) -> ...": the request in words.
std::string to_string(const PropagationRequest& request);

// is_shardable says whether each dim is at least as long as the number of ranks that split it.
bool is_shardable(DimSpan shape, PlacementSpan placements, DimSpan mesh_shape);

}  // namespace simmesh
