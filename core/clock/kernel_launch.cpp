#include "core/clock/kernel_launch.h"

namespace simmesh {

namespace {

// Returns the bytes of ranges in the device, or of those outside of it.
double bytes_of(gsl::span<const MemoryRange> ranges, bool in_device) {
  double bytes = 0;
  for (const MemoryRange& range : ranges)
    if ((range.storage_begin != 0) == in_device) bytes += double(range.bytes);
  return bytes;
}

}  // namespace

void launch_kernel(Clock& clock, const KernelLaunch& kernel) {
  KernelWork work{.operations = kernel.operations};
  work.device_bytes = kernel.device_bytes
                          ? *kernel.device_bytes
                          : bytes_of(kernel.reads, true) + bytes_of(kernel.writes, true);
  if (kernel.copies_host_memory)
    work.host_bytes = bytes_of(kernel.reads, false) + bytes_of(kernel.writes, false);
  clock.launch({.name = kernel.name,
                .site = kernel.site,
                .reads = kernel.reads,
                .writes = kernel.writes,
                .cost_us = clock.model().kernel_us(work),
                .copies_host_memory = kernel.copies_host_memory});
}

}  // namespace simmesh
