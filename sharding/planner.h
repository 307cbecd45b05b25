#pragma once

#include <cstdint>
#include <vector>

#include "core/clock/topology.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"
#include "sharding/placement.h"
#include "sharding/plan.h"
#include "sharding/shard_order.h"

namespace simmesh {

// PlannerChoice is the caller's wish. Greedy is the default; the graph planner also runs where
// greedy can't: where a shard order is not ascending, and for strided shards that can be decoded
// into an order.
enum class PlannerChoice : std::uint8_t { automatic, greedy, graph };

// PlanRequest is all that a plan depends on.
struct PlanRequest {
  Shape shape;                   // of the logical tensor
  DType dtype = DType::float32;  // for the cost only
  Dims mesh_shape;
  Placements from;  // one a mesh dim
  Placements to;
  ShardOrder from_order;
  ShardOrder to_order;
  PlannerChoice planner = PlannerChoice::automatic;
  std::vector<Dims>
      flattened;  // the mesh dims of each flattened mesh that exists, for merging steps
  Topology topology;
};

// make_plan returns the steps that turn `from` into `to`. It is a pure function of the request: no
// rank, no history and no cache enters, so all ranks get the same plan.
//
//   Plan plan = make_plan({.shape = {16, 8}, .mesh_shape = {2, 4},
//                          .from = {Shard(0), Replicate()}, .to = {Replicate(), Shard(1)}});
//   // S(0)->R on mesh dim 0, R->S(1) on mesh dim 1
//
// Strided shards are decoded into a shard order where both lists can be and the pieces stay the
// same on every rank; otherwise the greedy planner runs on them as they stand, and if one of its
// steps would misplace elements the unwind planner takes over. That one also plans for ragged
// shards.
//
// Throws as validate_local_redistribute does. Steps that no rank can carry out (S->P, P->P of
// another op, R->P of an op without such a conversion) are planned all the same, some at infinite
// cost: see validate_steps.
Plan make_plan(const PlanRequest& request);

}  // namespace simmesh
