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
  // The bytes that it moves, where they differ from all that it reads and writes.
  std::optional<double> device_bytes = {};
  CallSite site = {};
  // True for a copy between the device and the host's memory.
  bool copies_host_memory = false;
};

// launch_kernel launches a kernel on the current stream, at the cost of the clock's model. Raises a
// RuntimeError where it races with an earlier operation.
void launch_kernel(Clock& clock, const KernelLaunch& kernel);

}  // namespace simmesh
