#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline/schedule/row.h"

namespace simmesh::pipeline {

// LivenessGranularity says what has a slot of its own: each micro-batch of each stage, or each
// micro-batch, from its first forward to its last release over all stages.
enum class LivenessGranularity : std::uint8_t { stage_microbatch, microbatch };

// liveness_granularity_from_string reads "stage_microbatch" or "microbatch". Raises a ValueError
// for another word.
LivenessGranularity liveness_granularity_from_string(std::string_view name);

// ActivationLifetime is the slot of an activation and the places in the row from its F to its B or
// W, both included.
struct ActivationLifetime {
  std::int64_t stage;
  std::int64_t microbatch;
  std::int64_t slot;
  std::int64_t first;
  std::int64_t last;
};

// ActivationLiveness is the slots that the activations of a rank need.
struct ActivationLiveness {
  std::int64_t slots = 0;
  std::vector<ActivationLifetime> lifetimes = {};  // by stage, then by micro-batch
};

// analyze_activation_liveness gives each activation of some stages the lowest slot that is free: in
// order of first place, last place, stage and micro-batch. A slot is free once its last owner ended
// at an earlier place. Raises a ValueError for stages that are missing or repeated, and unless each
// stage has one F and one release, B or W, for each micro-batch, in this order, and an I for
// each W.
ActivationLiveness analyze_activation_liveness(const Row& row, std::vector<std::int64_t> stages,
                                               std::int64_t microbatches,
                                               LivenessGranularity granularity);

}  // namespace simmesh::pipeline
