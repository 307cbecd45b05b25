#pragma once

#include <cstdint>

#include "gate/file.h"

namespace simmesh {

// GateMemory is an estimate of the memory that a run of a gate needs, without running it.
struct GateMemory {
  // The bytes that each rank holds for itself: shards, their gradients and the state of the
  // optimiser, the largest gradient before it is reduced, activations, stack and modules.
  std::int64_t bytes_per_rank = 0;
  // The bytes of all ranks that run, and of the data and results of the run.
  std::int64_t bytes = 0;
};

// estimate_memory returns the estimate. It is meant to be right within a factor of two for worlds
// that need gigabytes.
GateMemory estimate_memory(const GateFile& gate);

// machine_memory_bytes returns the memory that this process may use: that of the machine, or of its
// control group if that is less.
std::int64_t machine_memory_bytes();

// expect_memory raises a BadGate at the sizes of the mesh if `worlds` runs of the gate at a time
// need more memory than there is. Otherwise it returns the estimate of what they need.
std::int64_t expect_memory(const GateFile& gate, std::int64_t worlds,
                           std::int64_t bytes_max = machine_memory_bytes());

}  // namespace simmesh
