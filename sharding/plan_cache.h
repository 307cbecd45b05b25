#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sharding/plan.h"
#include "sharding/planner.h"

namespace simmesh {

// Planned is a plan with what was asked for.
struct Planned {
  PlanRequest request;
  Plan plan;
};

// PlanCache keeps the newest plans of a World. A plan is a function of its request alone, so a hit
// changes nothing but time.
class PlanCache {
 public:
  static constexpr std::size_t plans_max = 1024;

  // find_or_make returns the plan of a request, which any rank may keep and read. Throws what
  // make_plan and validate_steps throw; failures aren't kept.
  std::shared_ptr<const Planned> find_or_make(const PlanRequest& request);

  // plans returns all plans that are kept, the newest first.
  std::vector<std::shared_ptr<const Planned>> plans() const;

  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::size_t hash;
    std::shared_ptr<const Planned> planned;
  };

  std::list<Entry> entries_;  // newest first
  std::unordered_multimap<std::size_t, std::list<Entry>::iterator> by_hash_;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace simmesh
