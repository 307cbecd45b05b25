#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/clock/topology.h"
#include "core/ops/op.h"
#include "sharding/placement/dtensor_spec.h"

namespace simmesh {

// PropagationRequest is everything on which the placements of a call depend.
struct PropagationRequest {
  const Op* op = nullptr;
  Attributes attributes;
  TensorTypes inputs;                          // logical; absent ones are not defined
  std::vector<std::optional<Sharding>> given;  // nothing for absent ones
  Dims mesh_shape;
  Destination destination = Destination::fresh;
  std::optional<Sharding> out;  // of the tensor that is given
  // keeps_bits excludes rows that compute with a part of a partial floating sum or average: such a
  // row is correct up to rounding only, and exact arithmetic allows no rounding.
  bool keeps_bits = false;
  Topology topology = {};

  bool operator==(const PropagationRequest& other) const;
};

// to_string returns "mm: S(0),R and R,S(0) -> ...": the request in words.
std::string to_string(const PropagationRequest& request);

// makes_parts_of_a_sum is true if a replicated tensor is to be cut into equal parts of a sum.
// Integers can't be: they become floating first where the op's result is; otherwise they aren't cut
// so.
bool makes_parts_of_a_sum(PlacementSpan from, PlacementSpan to, DimSpan mesh_shape);

// is_shardable is true if each dim is at least as long as the number of ranks that split it.
bool is_shardable(DimSpan shape, PlacementSpan placements, DimSpan mesh_shape);

}  // namespace simmesh
