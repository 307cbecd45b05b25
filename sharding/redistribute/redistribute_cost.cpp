#include "sharding/redistribute/redistribute_cost.h"

#include <algorithm>
#include <limits>

namespace simmesh {

RedistributeCost::RedistributeCost(double bytes, DimSpan mesh_shape, const Topology& topology,
                                   StridedShards strided)
    : bytes_(bytes),
      mesh_shape_(mesh_shape.begin(), mesh_shape.end()),
      topology_(topology),
      strided_(strided) {
  for (std::size_t mesh_dim = 0; mesh_dim < mesh_shape.size(); ++mesh_dim)
    links_.push_back(topology.link(mesh_shape, static_cast<std::int64_t>(mesh_dim)));
}

double RedistributeCost::transition_us(double& piece_bytes, std::int64_t mesh_dim,
                                       const Placement& from, const Placement& to) const {
  const std::int64_t members = mesh_shape_[mesh_dim];
  const Link link = links_[mesh_dim];
  const auto count = static_cast<double>(members);
  if (from == to) return 0.0;
  const bool cuts_strided = from.is_replicate() && to.is_strided_shard();
  if (strided_ == StridedShards::free && (from.is_strided_shard() || cuts_strided)) return 0.0;
  if (to.is_partial()) return from.is_replicate() ? 0.0 : std::numeric_limits<double>::infinity();
  if (from.is_replicate()) {
    piece_bytes /= count;
    return 0.0;
  }
  if (from.is_partial()) {
    if (!to.is_shard()) {
      const double us = topology_.all_reduce_us(piece_bytes, members, link);
      if (to.splits()) piece_bytes /= count;
      return us;
    }
    const double us = topology_.reduce_scatter_us(piece_bytes, members, link);
    piece_bytes /= count;
    return us;
  }
  if (from.is_shard() && to.is_shard()) return topology_.all_to_all_us(piece_bytes, members, link);
  const double us = topology_.all_gather_us(piece_bytes * count, members, link);
  if (to.is_replicate()) piece_bytes *= count;
  return us;
}

double RedistributeCost::step_from_shards_us(std::int64_t shards, std::int64_t mesh_dim,
                                             const Placement& from, const Placement& to) const {
  double piece_bytes = bytes_ / static_cast<double>(shards);
  return transition_us(piece_bytes, mesh_dim, from, to);
}

double RedistributeCost::step_us(PlacementSpan before, std::int64_t mesh_dim, const Placement& from,
                                 const Placement& to) const {
  return step_from_shards_us(shard_count(before, mesh_shape_), mesh_dim, from, to);
}

double RedistributeCost::floor_us(std::int64_t mesh_dim) const {
  return topology_.all_gather_us(0.0, mesh_shape_[mesh_dim], links_[mesh_dim]);
}

double RedistributeCost::plan_us(PlacementSpan source, gsl::span<const PlanStep> steps) const {
  if (std::all_of(source.begin(), source.end(),
                  [](const Placement& each) { return each.is_replicate(); }))
    return 0.0;
  double piece_bytes = bytes_ / static_cast<double>(shard_count(source, mesh_shape_));
  double us = 0.0;
  for (const PlanStep& step : steps)
    us += transition_us(piece_bytes, step.mesh_dims.front(), step.from, step.to);
  return us;
}

std::int64_t shard_count(PlacementSpan placements, DimSpan mesh_shape) {
  std::int64_t shards = 1;
  for (std::size_t mesh_dim = 0; mesh_dim < placements.size(); ++mesh_dim)
    if (placements[mesh_dim].splits()) shards *= mesh_shape[mesh_dim];
  return shards;
}

}  // namespace simmesh
