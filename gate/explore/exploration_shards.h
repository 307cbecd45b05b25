#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/shards/shard_results.h"
#include "gate/explore/explore_gates.h"

namespace simmesh {

// ExplorationShare is a share of an exploration of gates. Its jobs are blocks of neighbouring runs
// of a gate.
struct ExplorationShare {
  // It says which share, and gets the number of jobs, facts about all of them, and the results.
  ShardResults& keeps;
  // Returns the number of a job that nobody else gets, ascending, and `count` or more if none is
  // left. Without it the share has the jobs of its shard.
  std::function<std::uint64_t(std::uint64_t count)> next_job = nullptr;
};

// explore_share makes the runs of a share. Each block needs the data hash of the gate's first run,
// so a share that doesn't have this run makes it, too. No block follows a run that fails or stands
// for all. Returns false if it was interrupted; its results then aren't complete.
bool explore_share(const std::vector<GateFile>& gates, const GateRunOptions& options,
                   const GatesRequest& request, const ExplorationShare& share);

// explored_gates returns what the jobs of a share found of each gate: for all jobs together, what
// an exploration in one piece finds. Raises a ValueError for results that aren't those of gates.
std::vector<ExploredGate> explored_gates(const ShardResults& found);

// exploration_of returns the same as the result of exploring several gates.
GatesExploration exploration_of(const std::vector<ExploredGate>& gates);

}  // namespace simmesh
