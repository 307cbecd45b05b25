#include "replay/analysis/step_times.h"

#include <algorithm>
#include <map>

namespace simmesh::replay {

std::vector<StepTimes> step_times(const JobTimeline& job) {
  std::vector<StepTimes> steps;
  std::map<std::pair<std::string, int>, std::size_t> places;
  for (std::uint32_t r = 0; r < job.ranks.size(); ++r) {
    std::map<std::string, int> counts;
    DeviceMoments moments = device_moments(job.ranks[r]);
    for (const TimelineStep& step : job.ranks[r].steps) {
      auto [place, is_new] =
          places.emplace(std::pair(step.name, counts[step.name]++), steps.size());
      if (is_new) steps.push_back({.name = step.name, .ranks = {}});
      steps[place->second].ranks.push_back(
          {r, step.length_us(), busy_of(moments, {step.begin_us, step.end_us})});
    }
  }
  for (StepTimes& step : steps) {
    step.shortest_us = step.longest_us = step.ranks.front().length_us;
    for (const StepTimes::OfRank& rank : step.ranks) {
      step.mean_us += rank.length_us / double(step.ranks.size());
      step.shortest_us = std::min(step.shortest_us, rank.length_us);
      step.longest_us = std::max(step.longest_us, rank.length_us);
    }
  }
  return steps;
}

double mean_step_us(const std::vector<StepTimes>& steps) {
  double sum = 0;
  std::size_t count = 0;
  for (const StepTimes& step : steps) {
    for (const StepTimes::OfRank& rank : step.ranks) sum += rank.length_us;
    count += step.ranks.size();
  }
  return count > 0 ? sum / double(count) : 0;
}

}  // namespace simmesh::replay
