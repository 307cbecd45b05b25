#pragma once

#include <vector>

#include "core/clock/topology.h"
#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"
#include "sharding/redistribute/plan.h"

namespace simmesh {

// RedistributeCost prices the steps of a plan by the rules of PyTorch's planner, in microseconds.
// It carries the bytes of each rank's piece along:
//
//   S->R  all-gather of members * bytes, and the bytes grow by as much
//   S->S  all-to-all of the bytes (an all-gather of them plus a penalty)
//   P->R  all-reduce of the bytes
//   P->S  reduce-scatter of the bytes, which then shrink by the number of members
//   R->S  nothing, the bytes shrink;  R->P  nothing
//   S->P and P->P of another op  infinite: neither can be done in one step
//
// Strided and ragged shards cost as much as their way through R. A replicated source costs nothing
// at all.
class RedistributeCost {
 public:
  // StridedShards selects the cost of strided shards: that of their way through R (priced), or
  // nothing for steps from one and from R to one, which then leave the bytes unchanged (free).
  // PyTorch has the latter where it chooses the placements of an op's operands.
  enum class StridedShards : std::uint8_t { priced, free };

  // `bytes` is the size of the logical tensor.
  RedistributeCost(double bytes, DimSpan mesh_shape, const Topology& topology,
                   StridedShards strided = StridedShards::priced);

  // step_us is the cost of one step on its own, from a tensor with the placements `before`.
  double step_us(PlacementSpan before, std::int64_t mesh_dim, const Placement& from,
                 const Placement& to) const;

  // plan_us is the cost of all (unmerged) steps from a tensor with the placements `source`; the
  // bytes are carried from step to step.
  double plan_us(PlacementSpan source, gsl::span<const PlanStep> steps) const;

  // step_from_shards_us is step_us for callers that know the number of shards: the product of the
  // sizes of all mesh dims that split the tensor.
  double step_from_shards_us(std::int64_t shards, std::int64_t mesh_dim, const Placement& from,
                             const Placement& to) const;

  // floor_us is the least cost of any collective along the mesh dim.
  double floor_us(std::int64_t mesh_dim) const;

 private:
  double transition_us(double& piece_bytes, std::int64_t mesh_dim, const Placement& from,
                       const Placement& to) const;

  double bytes_;
  Dims mesh_shape_;
  Topology topology_;
  StridedShards strided_;
  boost::container::small_vector<Link, 4> links_;
};

// shard_count is the product of the sizes of all mesh dims that split the tensor.
std::int64_t shard_count(PlacementSpan placements, DimSpan mesh_shape);

}  // namespace simmesh
