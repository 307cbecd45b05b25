#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharding/redistribute/planner.h"

namespace simmesh {

// PlanReport is a plan with the bytes that its steps move, for people to read.
struct PlanReport {
  // Step is one step, or several that were merged into one.
  struct Step {
    std::string text;        // "S(0)->R on mesh dim 0"
    std::string collective;  // "all_gather", or "none"
    std::string after;       // the placements after the step
    // Bytes that each rank sends, and bytes that cross the busiest link of the ring; of the largest
    // piece.
    std::int64_t bytes_per_rank = 0;
    std::int64_t bytes_per_link = 0;
    double cost_us = 0;
  };

  std::string planner;
  std::vector<Step> steps;
  double cost_us = 0;
};

// report_plan works out the bytes that each step of a plan moves with ring algorithms: n-1 pieces a
// rank for an all-gather, n-1 parts for a reduce-scatter, twice that for an all-reduce, all but one
// part for an all-to-all.
PlanReport report_plan(const Plan& plan, const PlanRequest& request);

// to_text returns a report as `simmesh plan` prints it: the planner, a line a step, and last "cost:
// X", in us; quiet: only that line.
std::string to_text(const PlanReport& report, bool quiet = false);

}  // namespace simmesh
