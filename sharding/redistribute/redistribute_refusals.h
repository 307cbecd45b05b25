#pragma once

#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"
#include "sharding/redistribute/plan.h"
#include "sharding/redistribute/plan_request.h"

namespace simmesh {

// Refusals of redistributions, with PyTorch's exception classes and phrases. A public
// redistribution calls validate_redistribute, the level below it validate_local_redistribute
// (make_plan does so by itself); then the plan is made, and validate_steps checks its steps.

// validate_redistribute raises a RuntimeError where the target has a partial placement that the
// source doesn't have on the same mesh dim (release 2.15: other than P(sum) for a plain shard), and
// then as validate_local_redistribute does.
void validate_redistribute(const PlanRequest& request);

// validate_local_redistribute raises
//   ValueError      where the mesh, the topology, the number of placements or a shard order make
//                   no sense, or partial ops are mixed in one list (other than sum with avg)
//   AssertionError  where a tensor without dims is to be split
//   IndexError      where a shard's dim is outside the tensor
void validate_local_redistribute(const PlanRequest& request);

// validate_steps raises for the first step in order of execution that can't be carried out; steps
// on mesh dims of size 1 do nothing and always can.
//   RuntimeError    a shard to a partial placement (release 2.15: other than a plain one to P(sum))
//   AssertionError  a partial placement to another one
//   ValueError      a replica to a partial placement other than sum, avg, min and max, and the
//                   MaskPartial of a table
void validate_steps(const Plan& plan, const PlanRequest& request);

}  // namespace simmesh
