#pragma once

#include "sharding/redistribute/plan.h"
#include "sharding/redistribute/plan_request.h"

namespace simmesh {

// make_plan returns the steps that turn `from` into `to`. It is a pure function of the request, so
// all ranks get the same plan.
//
//   Plan plan = make_plan({.shape = {16, 8}, .mesh_shape = {2, 4},
//                          .from = {Shard(0), Replicate()}, .to = {Replicate(), Shard(1)}});
//   // S(0)->R on mesh dim 0, R->S(1) on mesh dim 1
//
// Strided shards are decoded into a shard order where both lists can be and the pieces stay the
// same on every rank; otherwise the greedy planner runs on the strided shards. For an operand
// (PlannerChoice::as_operand) the graph planner plans with the strided shards. If a step would
// misplace elements the unwind planner takes over; it also plans for ragged shards.
//
// Raises as check_bounds and validate_local_redistribute do. Steps that no rank can carry out (S->P
// of another op than sum, and before release 2.15 of any; P->P of another op; R->P of an op without
// such a conversion) are planned all the same, some at infinite cost: see validate_steps.
Plan make_plan(const PlanRequest& request);

}  // namespace simmesh
