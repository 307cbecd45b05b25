#pragma once

#include <cstdint>

#include "core/clock/topology.h"

namespace simmesh {

// KernelWork is the amount that an operation moves and computes; memory outside the device doesn't
// count.
struct KernelWork {
  double device_bytes = 0;  // read and written
  double host_bytes = 0;    // across the link to the host
  double operations = 0;    // floating-point ones
};

// DeviceModel is the cost of a simulated device in plain figures; times are a pure function of
// them. GB are 2^30 bytes.
struct DeviceModel {
  double launch_us = 2.0;
  double memory_gb_s = 1500.0;
  double host_gb_s = 25.0;
  double teraflops = 150.0;
  std::int64_t capacity_bytes = 0;  // 0 for no limit
  // checks_races raises an error where streams use memory without an order between them.
  bool checks_races = true;

  // The costs of collectives and messages.
  Topology topology = {.devices_per_host = 8};

  // kernel_us is the time of one operation: its launch, and then memory and arithmetic one after
  // the other, as an upper bound of what overlaps in a kernel.
  double kernel_us(const KernelWork& work) const {
    constexpr double gigabyte = 1024.0 * 1024.0 * 1024.0;
    double seconds = work.device_bytes / gigabyte / memory_gb_s;
    seconds += work.host_bytes / gigabyte / host_gb_s;
    seconds += work.operations / 1e12 / teraflops;
    return launch_us + seconds * 1e6;
  }
};

}  // namespace simmesh
