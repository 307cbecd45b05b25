#pragma once

#include <optional>
#include <vector>

#include "core/engine/ranks/observer_scope.h"
#include "core/ops/op.h"
#include "sharding/placement/placement.h"

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
  // How many all-gathers PyTorch's program starts on the result of one that is still under way. Who
  // counts calls below its tensors sees each of them twice: with that result, and with what it has
  // become when the wait is over.
  std::int64_t gathers_of_unwaited = 0;
};

// DispatchScope tells of each op that its rank has run on distributed tensors, in their order,
// forward and backward.
//
//   std::vector<std::string> names;
//   DispatchScope scope([&](const DispatchedOp& one) { names.push_back(one.op.name); });
using DispatchScope = ObserverScope<DispatchedOp>;

}  // namespace simmesh
