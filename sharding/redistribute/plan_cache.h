#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sharding/redistribute/bounded_cache.h"
#include "sharding/redistribute/plan.h"
#include "sharding/redistribute/planner.h"

namespace simmesh {

// Planned is a plan with its request.
struct Planned {
  PlanRequest request;
  Plan plan;
};

// PlanCache keeps the newest plans of a World. A plan is a function of its request alone, so a hit
// changes nothing but time.
class PlanCache {
 public:
  static constexpr std::size_t plans_max = 1024;

  // find_or_make returns the plan of a request, which any rank may keep and read. Raises as
  // make_plan and validate_steps do; failures aren't kept.
  std::shared_ptr<const Planned> find_or_make(const PlanRequest& request);

  // plans returns all plans that are kept, the newest first.
  std::vector<std::shared_ptr<const Planned>> plans() const { return cache_.entries(); }

  std::uint64_t hits() const { return cache_.hits(); }
  std::uint64_t misses() const { return cache_.misses(); }
  std::size_t size() const { return cache_.size(); }

 private:
  BoundedCache<Planned> cache_{plans_max};
};

}  // namespace simmesh
