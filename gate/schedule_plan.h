#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/reports/outcome.h"
#include "gate/runner.h"
#include "gate/schedule_policy.h"

namespace simmesh {

// SchedulePlan has the schedules of an exploration, by number. Number 0 is that of the options.
//
// With a step at which the seed changes, all schedules begin as number 0 does, and go on with seeds
// of their own.
class SchedulePlan {
 public:
  struct Choice {
    SchedulePolicyKind kind = SchedulePolicyKind::mixed;
    std::optional<std::uint64_t> reseed_at = {};
    std::uint64_t seed = 0;
  };

  // The first run has to have its choices, if needs_first_run is true.
  SchedulePlan(const Choice& choice, const Outcome& first_run);
  static bool needs_first_run(const Choice& choice) {
    return choice.kind == SchedulePolicyKind::pct || choice.kind == SchedulePolicyKind::walk;
  }

  Schedule at(std::uint64_t number, const GateRunner& runner) const;

  // escape_text says, for bugs of depth 1, 2 and 3, with which chance one is still there after so
  // many runs; empty for a policy without such a bound. A bug of depth d needs d events in a given
  // order. Of R ranks that take S steps in all, a run of pct:3 finds it with a chance of at least
  // 1 / (R * S^(d-1)) (Burckhardt et al., ASPLOS 2010).
  std::string escape_text(std::uint64_t runs) const;

 private:
  Choice choice_;
  std::vector<std::uint64_t> steps_;  // of the first run, by rank
  std::uint64_t steps_in_all_ = 0;
};

}  // namespace simmesh
