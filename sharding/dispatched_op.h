#pragma once

#include <optional>
#include <vector>

#include "core/engine/observer_scope.h"
#include "core/ops/op.h"
#include "sharding/placement.h"

namespace simmesh {

// DispatchedOp is one op that ran on distributed tensors, as the rank that ran it saw it.
struct DispatchedOp {
  // Of each input the placements that it had and those on which the op ran; nothing for a plain
  // tensor, and for an optional one that is absent.
  using PlacementsOfTensors = std::vector<std::optional<Placements>>;

  const Op& op;
  gsl::span<const Tensor> inputs;
  PlacementsOfTensors given;
  PlacementsOfTensors used;
  std::vector<Placements> outputs;
  // What bringing the inputs there costs by the planner's prices.
  double redistribute_cost_us = 0.0;
  gsl::span<const Tensor> results = {};
};

// DispatchScope tells of each op that its rank has run on distributed tensors, in their order,
// forward and backward.
//
//   std::vector<std::string> names;
//   DispatchScope scope([&](const DispatchedOp& one) { names.push_back(one.op.name); });
using DispatchScope = ObserverScope<DispatchedOp>;

}  // namespace simmesh
