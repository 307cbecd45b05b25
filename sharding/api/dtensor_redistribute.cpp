#include <fmt/format.h>

#include "core/arithmetic/unrounded.h"
#include "core/check/frames.h"
#include "core/engine/run/followed_release.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"
#include "sharding/api/dtensor_gradient.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/redistribute/plan_cache.h"
#include "sharding/redistribute/redistribute_refusals.h"
#include "sharding/redistribute/run_plan.h"

namespace simmesh {

// Request and plan are those of the World's cache, since a hundred thousand ranks take one route.
struct DTensor::Route {
  std::shared_ptr<const Planned> planned;
  std::shared_ptr<Place> target = nullptr;  // once a tensor has arrived
  std::size_t flattened = 0;                // meshes that existed then: a plan may merge over them
  bool is_validated = false;

  bool leads_to(const Placements& to, const RedistributeOptions& options) const {
    const PlanRequest& request = planned->request;
    return request.to == to && request.planner == options.planner &&
           request.to_order == options.order && request.topology == options.topology;
  }
};

PlanRequest DTensor::request_for(const Placements& to, const RedistributeOptions& options) const {
  PlanRequest request{.shape = shape(),
                      .dtype = options.forward_dtype.value_or(dtype()),
                      .mesh_shape = mesh().shape(),
                      .from = spec().sharding.placements,
                      .to = to,
                      .from_order = spec().sharding.order,
                      .to_order = options.order,
                      .planner = options.planner,
                      .topology = options.topology,
                      .release = followed_release()};
  if (mesh().ndim() > 1) request.flattened = spec().groups->flattened();
  return request;
}

// On a mesh of one dim there is nothing to merge.
std::size_t DTensor::flattened_meshes() const {
  return mesh().ndim() > 1 ? mesh().flattened_count() : 0;
}

DTensor::Route& DTensor::route_to(const Placements& to, const RedistributeOptions& options,
                                  bool is_validated) const {
  Route* last = place_->route.get();
  bool is_known = last && last->leads_to(to, options) && last->flattened == flattened_meshes() &&
                  (last->is_validated || !is_validated);
  Route& route = is_known ? *last : new_route(to, options, is_validated);
  if (this_rank().world().options().log.debug) [[unlikely]]
    log_route(route);
  return route;
}

// Not inlined, like log_route: its memory must not be on the stack of a rank that waits.
SIMMESH_OWN_FRAME DTensor::Route& DTensor::new_route(const Placements& to,
                                                     const RedistributeOptions& options,
                                                     bool is_validated) const {
  PlanRequest request = request_for(to, options);
  if (is_validated) validate_redistribute(request);
  Rank& rank = this_rank();
  rank.run().take_turn(rank);
  place_->route = std::make_shared<Route>(
      Route{.planned = rank.world().state<PlanCache>().find_or_make(request),
            .flattened = flattened_meshes(),
            .is_validated = is_validated});
  return *place_->route;
}

SIMMESH_OWN_FRAME void DTensor::log_route(const Route& route) const {
  Rank& rank = this_rank();
  rank.run().take_turn(rank);
  const PlanRequest& request = route.planned->request;
  rank.world().options().log.debug(fmt::format(
      "rank {}: redistribute {} to {}:\n{}", rank.id(), to_string(spec()),
      to_string(PlacementSpan(request.to)), to_string(route.planned->plan, request.mesh_shape)));
}

namespace {

// True if a sum of one rank's part becomes final, which no step of a plan rounds.
bool ends_sum_of_one(const PlanRequest& request) {
  for (std::size_t dim = 0; dim < request.from.size(); ++dim)
    if (request.mesh_shape[dim] == 1 && request.from[dim].is_partial() &&
        !request.to[dim].is_partial())
      return true;
  return false;
}

}  // namespace

DTensor DTensor::take(Route& route, bool is_async, const CallSite& site) const {
  MeshGroups& groups = *spec().groups;
  if (!groups.is_member()) return arrived(route, Tensor(local()), {});
  PlanResult result =
      run_plan(route.planned->plan, local(), {groups, shape(), mask_.get(), site}, is_async);
  bool is_here = result.local.is_defined() && !result.pending;
  if (is_here && is_unrounded(result.local) && !keeps_unrounded() &&
      ends_sum_of_one(route.planned->request))
    result.local = rounded(result.local);
  return arrived(route, std::move(result.local), std::move(result.pending));
}

// The first tensor that arrives makes the target's place, so that waiting ranks hold none. A chain
// of places must end somewhere, because the first of them may live long.
SIMMESH_OWN_FRAME DTensor DTensor::arrived(Route& route, Tensor&& local,
                                           std::optional<Work>&& pending) const {
  std::shared_ptr<Place> target = route.target;
  if (!target) {
    const PlanRequest& request = route.planned->request;
    target = std::make_shared<Place>(Place{.spec = spec()});
    target->spec.sharding = {normalized(request.to, std::int64_t(request.shape.size())),
                             request.to_order};
    if (place_->routes_in_a_row < routes_in_a_row_max) {
      target->routes_in_a_row = place_->routes_in_a_row + 1;
      route.target = target;
    }
  }
  return DTensor(std::move(target), std::move(local), std::move(pending));
}

DTensor DTensor::redistribute(const Placements& to, const RedistributeOptions& options,
                              CallSite site) const {
  if (options.forward_dtype || options.backward_dtype)
    return redistributed_as(to, options, true, site);
  return taken(route_to(to, options, true), options.is_async, site);
}

DTensor DTensor::redistribute_local(const Placements& to, const RedistributeOptions& options,
                                    CallSite site) const {
  if (options.forward_dtype || options.backward_dtype)
    return redistributed_as(to, options, false, site);
  return taken(route_to(to, options, false), options.is_async, site);
}

// The pieces are converted before they move: partial ones before they are added up.
SIMMESH_OWN_FRAME DTensor DTensor::redistributed_as(const Placements& to,
                                                    const RedistributeOptions& options,
                                                    bool is_validated, const CallSite& site) const {
  DTensorSpec spec = this->spec();
  spec.dtype = options.forward_dtype.value_or(dtype());
  DTensor source(spec, converted(local(), spec.dtype), mask_ ? *mask_ : Tensor());
  RedistributeOptions plain = options;
  plain.forward_dtype = plain.backward_dtype = {};
  DTensor result = is_validated ? source.redistribute(to, plain, site)
                                : source.redistribute_local(to, plain, site);
  if (requires_grad()) record_redistribute(*this, result, options.backward_dtype.value_or(dtype()));
  return result;
}

double DTensor::redistribute_cost_us(const Placements& to,
                                     const RedistributeOptions& options) const {
  return route_to(to, options, false).planned->plan.cost_us;
}

std::shared_ptr<const Plan> DTensor::redistribute_plan(const Placements& to,
                                                       const RedistributeOptions& options) const {
  std::shared_ptr<const Planned> planned = route_to(to, options, false).planned;
  return {planned, &planned->plan};
}

DTensor DTensor::taken(Route& route, bool is_async, const CallSite& site) const {
  DTensor result = take(route, is_async, site);
  if (requires_grad()) [[unlikely]]
    record_redistribute(*this, result);
  return result;
}

Tensor DTensor::full_tensor(const ToLocalOptions& options, CallSite site) const {
  Placements replicated(placements().size(), Replicate());
  return redistribute(replicated, {}, site).to_local(options);
}

}  // namespace simmesh
