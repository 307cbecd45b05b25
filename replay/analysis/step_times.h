#pragma once

#include <string>
#include <vector>

#include "replay/analysis/exposed.h"

namespace simmesh::replay {

// StepTimes is one training step on the ranks that have it, from end to end, and what their devices
// did meanwhile.
struct StepTimes {
  std::string name;
  // OfRank is the step on one rank.
  struct OfRank {
    std::uint32_t rank = 0;  // in JobTimeline::ranks
    double length_us = 0;
    RankBusy busy = {};
  };
  std::vector<OfRank> ranks;
  double mean_us = 0;
  double shortest_us = 0;
  double longest_us = 0;
};

// step_times returns the steps of a job by name, in the order in which the first rank that has one
// comes to it. A name that occurs several times on a rank is several steps.
std::vector<StepTimes> step_times(const JobTimeline& job);

// mean_step_us returns the mean over all ranks and steps; 0 without any.
double mean_step_us(const std::vector<StepTimes>& steps);

}  // namespace simmesh::replay
