#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/reports/outcome.h"
#include "gate/explore/schedule_policy.h"
#include "gate/runner.h"

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
    std::size_t ranks = 0;
  };

  // The first run has to have its choices, if needs_first_run is true.
  SchedulePlan(const Choice& choice, const Outcome& first_run);
  static bool needs_first_run(const Choice& choice) {
    return choice.kind != SchedulePolicyKind::mixed && !choice.reseed_at;
  }

  Schedule at(std::uint64_t number, const GateRunner& runner) const;

  // escape_text says with which chance a bug is still there after so many runs, or that no such
  // bound exists. A bug of depth d needs d pairs of events in a given order, and shows in runs of
  // at most S steps, the number of the first run. There are R ranks.
  //
  // pct    A run of pct:d finds a bug of depth d with a chance of at least 1 / (R * S^(d-1))
  //        (Burckhardt et al., ASPLOS 2010): the right rank is the lowest one, and the d - 1 drops
  //        come at the right steps. A drop too many may hide the bug again, so the runs are of
  //        pct:1, pct:2 and pct:3 in turn, and only those of pct:d count for depth d.
  // mixed  Every other run is one of pct:3, whose drops are among the first 16 R steps. So the
  // bound
  //        is for bugs of depth 3 that need their drops there.
  // others A bug of any depth can hide behind work that must not happen in between, so there is no
  //        bound by depth, only one for each schedule, or class of schedules, of S steps. Every one
  //        of the S choices of random is right with a chance of at least 1 / R: R^-S. A choice of
  //        walk is right with a chance of at least the steps that the rank has ahead over those of
  //        all ranks; the product is that of s_r! over S!, for s_r steps of rank r. For pos and a
  //        class of S events it is S^-S (Yuan et al., CAV 2018).
  std::string escape_text(std::uint64_t runs) const;

 private:
  int depth_of(std::uint64_t number) const;
  std::string pct_text(std::uint64_t runs) const;
  std::string mixed_text(std::uint64_t runs) const;
  std::string schedule_text() const;

  Choice choice_;
  std::vector<std::uint64_t> steps_;  // of the first run, by rank
  std::uint64_t steps_in_all_ = 0;
  std::vector<std::uint64_t> own_objects_;  // that one rank alone has used
};

}  // namespace simmesh
