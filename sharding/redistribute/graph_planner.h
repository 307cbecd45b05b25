#pragma once

#include <vector>

#include "core/tensor/shape.h"
#include "sharding/placement/shard_order.h"
#include "sharding/redistribute/plan.h"
#include "sharding/redistribute/redistribute_cost.h"

namespace simmesh {

// graph_steps plans a redistribution as the cheapest path over shardings (placements and shard
// order), as PyTorch's graph planner does. Only the mesh dim applied last to a tensor dim may leave
// it, and a new one is appended. The steps from a sharding are tried in this order:
//
//   1. S(a)->S(b)  tensor dims a ascending, then b ascending
//   2. S(a)->R     tensor dims ascending
//   3. P->R        mesh dims ascending
//   4. R->S(d)     mesh dims, then tensor dims, ascending
//   5. P->S(d)     mesh dims, then tensor dims, ascending
//   6. R->P(op)    mesh dims ascending, ops by name
//   7. _S(a)->R    tensor dims ascending
//   8. R->_S       mesh dims ascending, then the strided shards that occur in `from` or `to`
//   9. S(a)->P(sum)  tensor dims ascending, if embeds_shards, on mesh dims that are P(sum) in `to`;
//                  costs nothing here, whatever the cost table says
//
// where the ops are those that occur in `from` or `to`, and no step mixes ops other than sum with
// avg. Among paths of equal cost the one whose last sharding was reached first wins, so the result
// is a pure function of the arguments. A strided shard implies an order: where there is one, the
// mesh dims of its tensor dim stay in ascending order.
//
// Both shardings hold plain and strided shards, replicas and partial placements. Raises a
// RuntimeError where the search grows beyond four million shardings.
std::vector<PlanStep> graph_steps(const Sharding& from, const Sharding& to,
                                  std::int64_t tensor_dims, DimSpan mesh_shape,
                                  const RedistributeCost& cost, bool embeds_shards);

}  // namespace simmesh
