#include "sharding/propagation/candidates.h"

#include <algorithm>
#include <limits>

#include "core/check/error.h"
#include "core/engine/run/followed_release.h"
#include "sharding/redistribute/planner.h"
#include "sharding/redistribute/redistribute_cost.h"

namespace simmesh {

namespace {

constexpr double unreachable_us = std::numeric_limits<double>::infinity();

bool same_dims(const Dims& order, const Dims& dims) {
  Dims sorted = order;
  std::sort(sorted.begin(), sorted.end());
  return sorted == dims;
}

// Returns the order in which some mesh dims split a tensor dim of an input; null where it is
// ascending in all inputs.
const Dims* order_seen(const PropagationRequest& request, const Dims& mesh_dims) {
  for (const auto& given : request.given)
    if (given)
      for (const ShardOrder::Entry& entry : given->order.entries())
        if (same_dims(entry.mesh_dims, mesh_dims)) return &entry.mesh_dims;
  return nullptr;
}

// PyTorch runs no op through a shard that becomes partial. A strided one becomes R first.
bool makes_shards_partial(const Placements& from, const Placements& to) {
  for (std::size_t mesh_dim = 0; mesh_dim < from.size(); ++mesh_dim)
    if (from[mesh_dim].splits() && !from[mesh_dim].is_strided_shard() && to[mesh_dim].is_partial())
      return true;
  return false;
}

}  // namespace

Sharding sharding_of(const Placements& placements, const PropagationRequest& request) {
  bool is_ascending = std::all_of(request.given.begin(), request.given.end(), [](const auto& one) {
    return !one || one->order.is_ascending();
  });
  if (is_ascending) return {placements, {}};
  std::vector<ShardOrder::Entry> entries;
  for (const Placement& placement : placements) {
    if (!placement.is_shard()) continue;
    std::int64_t dim = placement.dim();
    bool is_listed = std::any_of(entries.begin(), entries.end(),
                                 [dim](const auto& entry) { return entry.tensor_dim == dim; });
    if (is_listed) continue;
    Dims mesh_dims = ShardOrder().mesh_dims(dim, placements);
    if (mesh_dims.size() < 2) continue;
    if (const Dims* order = order_seen(request, mesh_dims)) entries.push_back({dim, *order});
  }
  return {placements, ShardOrder::of(std::move(entries), placements)};
}

CandidateCosts::CandidateCosts(const PropagationRequest& request)
    : request_(request), known_(request.inputs.size()) {}

double CandidateCosts::cost_us(std::size_t input, const Placements& target) {
  const Sharding& from = *request_.given[input];
  for (const Known& known : known_[input])
    if (known.target == target) return known.cost_us;
  Sharding to = sharding_of(target, request_);
  double cost = 0.0;
  if (makes_shards_partial(from.placements, target)) {
    cost = unreachable_us;
  } else if (!(to == from)) {
    try {
      cost = make_plan({.shape = request_.inputs[input].shape,
                        .dtype = request_.inputs[input].dtype,
                        .mesh_shape = request_.mesh_shape,
                        .from = from.placements,
                        .to = to.placements,
                        .from_order = from.order,
                        .to_order = to.order,
                        .planner = PlannerChoice::as_operand,
                        .topology = request_.topology})
                 .cost_us;
    } catch (const Error&) {
      cost = unreachable_us;  // no plan leads there
    }
  }
  known_[input].push_back({target, cost});
  return cost;
}

double CandidateCosts::floor_us(std::size_t input, std::size_t mesh_dim,
                                const Placement& target) const {
  const Placement& from = request_.given[input]->placements[mesh_dim];
  bool is_free = from == target || from.is_replicate() || from.is_strided_shard() ||
                 request_.mesh_shape[mesh_dim] == 1;
  if (is_free) return 0.0;
  return RedistributeCost(0.0, request_.mesh_shape, request_.topology)
      .floor_us(std::int64_t(mesh_dim));
}

}  // namespace simmesh
