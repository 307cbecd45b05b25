#include "sharding/redistribute/planner.h"

#include <algorithm>

#include "core/release/release_change.h"
#include "sharding/placement/local_shape.h"
#include "sharding/redistribute/graph_planner.h"
#include "sharding/redistribute/greedy_planner.h"
#include "sharding/redistribute/merge_steps.h"
#include "sharding/redistribute/redistribute_cost.h"
#include "sharding/redistribute/redistribute_refusals.h"
#include "sharding/redistribute/step_feasibility.h"
#include "sharding/redistribute/unwind_planner.h"

namespace simmesh {
namespace {

template <class Predicate>
bool any_placement(const Plan& plan, Predicate predicate) {
  const auto in = [&](const Placements& list) {
    return std::any_of(list.begin(), list.end(), predicate);
  };
  return in(plan.from.placements) || in(plan.to.placements);
}

// divides_evenly is true if each tensor dim is divisible by the number of its shards. Then any
// order of applying them gives the pieces of the strided shards that encode it.
bool divides_evenly(const Sharding& sharding, DimSpan shape, DimSpan mesh_shape) {
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    std::int64_t parts = 1;
    bool overflow = false;
    for (std::size_t mesh_dim = 0; mesh_dim < mesh_shape.size(); ++mesh_dim)
      if (sharding.placements[mesh_dim].splits(static_cast<std::int64_t>(dim)))
        overflow |= __builtin_mul_overflow(parts, mesh_shape[mesh_dim], &parts);
    if (overflow || shape[dim] % parts != 0) return false;
  }
  return true;
}

std::optional<Sharding> decoded_exactly(const Sharding& sharding, DimSpan shape,
                                        DimSpan mesh_shape) {
  auto decoded = decode_strided(sharding, mesh_shape);
  if (decoded && !divides_evenly(sharding, shape, mesh_shape) &&
      !same_pieces(shape, mesh_shape, sharding, *decoded))
    return std::nullopt;
  return decoded;
}

bool embeds_shards(const PlanRequest& request) {
  return has(request.release, ReleaseChange::shard_to_partial_sum);
}

bool has_strided(const Plan& plan) {
  return any_placement(plan, [](const Placement& each) { return each.is_strided_shard(); });
}

// price sets the costs of steps: those of the search, in which embedding a shard is free. The plan
// gets the cost by which strategies are chosen, which must not be led to embed shards.
void price(Plan& plan, const PlanRequest& request, const RedistributeCost& cost) {
  for (std::size_t index = 0; index < plan.steps.size(); ++index) {
    PlanStep& step = plan.steps[index];
    if (embeds_shards(request) && embeds_shard(step.from, step.to)) continue;
    step.cost_us =
        cost.step_us(plan.before(index).placements, step.mesh_dims.front(), step.from, step.to);
  }
  plan.cost_us = cost.plan_us(plan.from.placements, plan.steps);
}

// beyond_search is true if the graph planner has no state or no step for a list: ragged shards, and
// new masks and norms.
bool beyond_search(const Plan& plan) {
  if (any_placement(plan, [](const Placement& each) { return each.is_ragged_shard(); }))
    return true;
  for (std::size_t mesh_dim = 0; mesh_dim < plan.to.placements.size(); ++mesh_dim) {
    const Placement& to = plan.to.placements[mesh_dim];
    if (to.is_partial() && !to.is_plain_partial() && to != plan.from.placements[mesh_dim])
      return true;
  }
  return false;
}

// choose_planner also decodes strided shards where that is correct.
PlannerKind choose_planner(Plan& plan, const PlanRequest& request) {
  if (beyond_search(plan)) return PlannerKind::unwind;
  const bool strided = has_strided(plan);
  const bool ordered = !plan.from.order.is_ascending() || !plan.to.order.is_ascending();
  if (!strided)
    return ordered || request.planner == PlannerChoice::graph ? PlannerKind::graph
                                                              : PlannerKind::greedy;
  if (request.planner == PlannerChoice::as_operand) return PlannerKind::graph;
  auto from = decoded_exactly(plan.from, request.shape, request.mesh_shape);
  auto to = decoded_exactly(plan.to, request.shape, request.mesh_shape);
  if (from && to) {
    plan.from = *std::move(from);
    plan.to = *std::move(to);
    return PlannerKind::graph;
  }
  return ordered ? PlannerKind::unwind : PlannerKind::greedy;
}

void find_steps(Plan& plan, const PlanRequest& request, const RedistributeCost& cost) {
  const auto tensor_dims = static_cast<std::int64_t>(request.shape.size());
  plan.planner = choose_planner(plan, request);
  if (plan.from == plan.to) return;
  if (plan.planner == PlannerKind::graph)
    plan.steps = graph_steps(plan.from, plan.to, tensor_dims, request.mesh_shape, cost,
                             embeds_shards(request));
  if (plan.planner == PlannerKind::greedy)
    plan.steps = greedy_steps(plan.from.placements, plan.to.placements, request.mesh_shape);
  if (plan.planner != PlannerKind::unwind) {
    // Plain shards are always removed innermost first.
    if (!has_strided(plan) ||
        plan_is_feasible(request.shape, request.mesh_shape, plan.from, plan.steps))
      return;
    plan.planner = PlannerKind::unwind;
  }
  plan.steps = unwind_steps(plan.from, plan.to, tensor_dims);
}

}  // namespace

Plan make_plan(const PlanRequest& request) {
  check_bounds(request);
  validate_local_redistribute(request);
  const auto tensor_dims = static_cast<std::int64_t>(request.shape.size());
  Plan plan;
  plan.from = {normalized(request.from, tensor_dims), request.from_order};
  plan.to = {normalized(request.to, tensor_dims), request.to_order};
  const auto bytes = static_cast<double>(numel(request.shape)) *
                     static_cast<double>(bytes_per_element(request.dtype));
  const RedistributeCost cost(bytes, request.mesh_shape, request.topology,
                              request.planner == PlannerChoice::as_operand
                                  ? RedistributeCost::StridedShards::free
                                  : RedistributeCost::StridedShards::priced);
  find_steps(plan, request, cost);
  price(plan, request, cost);
  if (!request.flattened.empty())
    plan.steps = merge_steps(std::move(plan.steps), plan.from, request.shape, request.mesh_shape,
                             request.flattened);
  return plan;
}

}  // namespace simmesh
