#pragma once

#include <gsl/span>
#include <optional>

#include "core/clock/clock.h"

namespace simmesh {

// KernelLaunch is an operation that a device computes, as its clock sees it: what it reads, writes
// and costs.
struct KernelLaunch {
  const char* name;
  gsl::span<const MemoryRange> reads = {};
  gsl::span<const MemoryRange> writes = {};
  double operations = 0;  // floating-point ones
  // What it moves, where that isn't all it reads and writes, in bytes.
  std::optional<double> device_bytes = {};
  CallSite site = {};
  // A copy between the device and the host's memory.
  bool copies_host_memory = false;
};

// launch_kernel launches a kernel on the current stream, at the cost that the clock's model gives
// it. Raises a RuntimeError where it races with an earlier operation.
void launch_kernel(Clock& clock, const KernelLaunch& kernel);

}  // namespace simmesh
