#include "sharding/plan_cache.h"

#include "core/check/fold_hash.h"
#include "sharding/redistribute_refusals.h"

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

bool same(const PlanRequest& a, const PlanRequest& b) {
  return a.shape == b.shape && a.dtype == b.dtype && a.mesh_shape == b.mesh_shape &&
         a.from == b.from && a.to == b.to && a.from_order == b.from_order &&
         a.to_order == b.to_order && a.planner == b.planner && a.flattened == b.flattened &&
         a.topology == b.topology && a.release == b.release;
}

}  // namespace

std::shared_ptr<const Planned> PlanCache::find_or_make(const PlanRequest& request) {
  std::size_t hash = hash_of(request);
  auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    auto entry = it->second;
    if (!same(entry->planned->request, request)) continue;
    ++hits_;
    if (entry != entries_.begin()) entries_.splice(entries_.begin(), entries_, entry);
    return entry->planned;
  }
  ++misses_;
  auto planned = std::make_shared<const Planned>(Planned{request, make_plan(request)});
  validate_steps(planned->plan, request);
  entries_.push_front({hash, planned});
  by_hash_.emplace(hash, entries_.begin());
  if (entries_.size() > plans_max) {
    auto oldest = std::prev(entries_.end());
    auto [first, last] = by_hash_.equal_range(oldest->hash);
    for (auto it = first; it != last; ++it) {
      if (it->second != oldest) continue;
      by_hash_.erase(it);
      break;
    }
    entries_.erase(oldest);
  }
  return planned;
}

std::vector<std::shared_ptr<const Planned>> PlanCache::plans() const {
  std::vector<std::shared_ptr<const Planned>> plans;
  for (const Entry& entry : entries_) plans.push_back(entry.planned);
  return plans;
}

}  // namespace simmesh
