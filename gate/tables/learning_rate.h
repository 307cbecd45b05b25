#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/optim/learning_rate.h"
#include "gate/tables/keys.h"

namespace simmesh {

// GateLearningRate is train.lr_schedule: the factor of the optimiser's lr at each step. Its kinds
// are the functions of optim::LearningRate.
struct GateLearningRate {
  std::string kind = "constant";
  // The factor rises linearly from warmup_start to 1 over so many steps, before the schedule
  // begins.
  std::int64_t warmup = 0;
  double warmup_start = 1.0 / 3.0;
  std::int64_t every = 1;                // of step
  double gamma = 0.1;                    // of step, multi_step and exponential
  std::vector<std::int64_t> milestones;  // of multi_step
  std::int64_t steps = 1;                // of linear and cosine
  double start = 1.0 / 3.0, end = 1.0;   // of linear; cosine has end

  optim::LearningRate rate() const;
};

// read_gate_learning_rate reads the key. Keys that the kind doesn't have are unknown.
GateLearningRate read_gate_learning_rate(GateTable& table);

// learning_rate_entry returns the key as TOML that reads as the same.
std::string learning_rate_entry(const GateLearningRate& schedule);

}  // namespace simmesh
