#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"
#include "sharding/placement/shard_order.h"

namespace simmesh {

// PlannerKind names the algorithm that found a plan.
enum class PlannerKind : std::uint8_t {
  greedy,  // two passes over the mesh dims, no costs
  graph,   // cheapest path over all shardings
  unwind,  // gathers the shards in the way, innermost first, where greedy would misplace nested
           // strided shards
};

// to_string returns the enumerator's name.
std::string_view to_string(PlannerKind kind);

// PlanStep turns the placement of one mesh dim into another. A merged step does so for several mesh
// dims in one collective over their flattened mesh; the members are then in row-major order of the
// mesh dims.
struct PlanStep {
  Dims mesh_dims;  // one, or several in ascending order where merged
  Placement
      from;  // of each mesh dim (P(sum) where a merged step reduces sums and averages together)
  Placement to;
  Sharding after;  // of the whole tensor
  bool merged = false;
  std::int64_t divide_by = 1;  // the divisor of a merged sum, applied once, for the averages in it
  double cost_us = 0;          // of the step on its own; of the steps that it replaces where merged

  bool operator==(const PlanStep&) const = default;
};

// Plan is a redistribution: the steps that lead from one sharding to another. It holds no state of
// a rank, so every rank computes the same plan.
//
// In `from` and `to` decoded strided shards appear as plain shards with an order. The sharding
// before a step is `from` or the `after` of the step before it.
struct Plan {
  Sharding from;
  Sharding to;
  std::vector<PlanStep> steps;
  PlannerKind planner = PlannerKind::greedy;
  double cost_us = 0;  // of the unmerged plan as a whole; infinite where a step cannot be done

  // before returns the sharding before a step.
  const Sharding& before(std::size_t step) const {
    return step == 0 ? from : steps[step - 1].after;
  }

  bool operator==(const Plan&) const = default;
};

// Collective names the communication of a step.
enum class Collective : std::uint8_t { none, all_reduce, reduce_scatter, all_gather, all_to_all };

// to_string returns the enumerator's name, which is the word of the recorded cases.
std::string_view to_string(Collective collective);

// collective_of returns the collective that a step issues on each rank of the mesh dims' groups.
// Nothing happens on mesh dims of size 1. A step to a strided or ragged shard goes through
// Replicate: an all-gather or all-reduce, then a local cut.
Collective collective_of(const PlanStep& step, DimSpan mesh_shape);

// to_string returns what a step does: "S(0)->R on mesh dim 1"; of a merged one "S(0)-->R on mesh
// dims 0+1".
std::string to_string(const PlanStep& step);

// to_string returns one line for each step: "S(0)->R on mesh dim 1: all_gather, then S(0),R".
std::string to_string(const Plan& plan, DimSpan mesh_shape);

}  // namespace simmesh
