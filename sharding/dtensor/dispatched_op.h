#pragma once

#include <optional>
#include <vector>

#include "core/engine/ranks/observer_scope.h"
#include "core/ops/op.h"
#include "sharding/placement/placement.h"

namespace simmesh {

// DispatchedOp is one op that ran on distributed tensors, as the rank that ran it saw it.
struct DispatchedOp {
  // For each input the placements that it had and those on which the op ran; empty for a plain
  // tensor, and for an absent optional one.
  using PlacementsOfTensors = std::vector<std::optional<Placements>>;

  const Op& op;
  gsl::span<const Tensor> inputs;
  PlacementsOfTensors given;
  PlacementsOfTensors used;
  std::vector<Placements> outputs;
  // The planner's cost of redistributing the inputs.
  double redistribute_cost_us = 0.0;
  gsl::span<const Tensor> results = {};
  // The number of all-gathers that PyTorch's program starts on the result of one that is still
  // under way. A tool that counts calls below the tensors sees each of them twice: with that
  // result, and with the result after the wait.
  std::int64_t gathers_of_unwaited = 0;
};

// DispatchScope reports each op that its rank runs on distributed tensors, in order, forward and
// backward.
//
//   std::vector<std::string> names;
//   DispatchScope scope([&](const DispatchedOp& one) { names.push_back(one.op.name); });
using DispatchScope = ObserverScope<DispatchedOp>;

}  // namespace simmesh
