#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock/topology.h"
#include "core/release/release.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"
#include "sharding/placement/shard_order.h"

namespace simmesh {

// PlannerChoice selects the planner. `automatic` is greedy; the graph planner also runs where
// greedy can't: where a shard order is not ascending, and for strided shards that can be decoded
// into an order.
//
// `as_operand` is for the inputs of ops. There strided shards come from views, and PyTorch doesn't
// decode them into an order: the graph planner removes and adds them as strided shards, at no cost
// (see RedistributeCost::StridedShards). Without strided shards it is the same as `automatic`.
enum class PlannerChoice : std::uint8_t { automatic, greedy, graph, as_operand };

// planner_choice_from_string reads "automatic", "greedy" or "graph"; as_operand has no word. Raises
// a ValueError that lists the known ones.
PlannerChoice planner_choice_from_string(std::string_view name);

// PlanRequest is everything that a plan depends on.
struct PlanRequest {
  Shape shape;                   // of the logical tensor
  DType dtype = DType::float32;  // for the cost only
  Dims mesh_shape;
  Placements from;  // one per mesh dim
  Placements to;
  ShardOrder from_order;
  ShardOrder to_order;
  PlannerChoice planner = PlannerChoice::automatic;
  // The mesh dims of each existing flattened mesh, for merging steps.
  std::vector<Dims> flattened;
  Topology topology;
  Release release = newest_release;

  bool operator==(const PlanRequest&) const = default;
};

// Bounds of a request, within which bytes and costs are exact: no tensor of a real program comes
// near.
inline constexpr std::int64_t plan_ranks_max = std::int64_t(1) << 20;
inline constexpr std::int64_t plan_bytes_max = std::int64_t(1) << 42;

// check_bounds raises a ValueError for a mesh of more ranks or a tensor of more bytes than that.
void check_bounds(const PlanRequest& request);

// to_string returns "float32[16, 8] on mesh [2, 4]: S(0),R -> R,S(1)".
std::string to_string(const PlanRequest& request);

}  // namespace simmesh
