#include "sharding/redistribute/plan_cache.h"

#include "core/check/fold_hash.h"
#include "sharding/redistribute/redistribute_refusals.h"

namespace simmesh {

namespace {

std::size_t hash_of(const PlanRequest& request) {
  FoldHash hash;
  for (std::int64_t size : request.shape) hash.fold(std::uint64_t(size));
  for (std::int64_t size : request.mesh_shape) hash.fold(std::uint64_t(size));
  for (const Placement& placement : request.from) hash.fold(hash_value(placement));
  for (const Placement& placement : request.to) hash.fold(hash_value(placement));
  hash.fold((std::uint64_t(request.planner) << 8) | std::uint64_t(request.dtype));
  return std::size_t(hash.value());
}

}  // namespace

std::shared_ptr<const Planned> PlanCache::find_or_make(const PlanRequest& request) {
  std::size_t hash = hash_of(request);
  if (auto known = cache_.find(request, hash)) return known;
  auto planned = std::make_shared<const Planned>(Planned{request, make_plan(request)});
  validate_steps(planned->plan, request);
  cache_.keep(planned, hash);
  return planned;
}

}  // namespace simmesh
