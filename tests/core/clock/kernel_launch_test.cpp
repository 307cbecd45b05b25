#include "core/clock/kernel_launch.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"

namespace simmesh {
namespace {

// Returns the cost of a launch without the launch itself, in units of 2^-30 seconds times 1e6.
double cost_of(const KernelLaunch& kernel) {
  DeviceModel model{.launch_us = 0,
                    .memory_gb_s = 1,
                    .host_gb_s = 0.5,
                    .teraflops = 1e-12 * 1024 * 1024 * 1024,
                    .checks_races = false};
  Outcome outcome = World({.ranks = 1, .device = model}).run([&](Rank&) {
    launch_kernel(*Clock::active(), kernel);
  });
  outcome.rethrow();
  return outcome.devices[0].makespan_us * 1024 * 1024 * 1024 / 1e6;
}

// A range with the begin of a storage is on the device; one without is in the host's memory.
const MemoryRange on_device[] = {{.storage_begin = 64, .bytes = 48}};
const MemoryRange on_host[] = {{.storage_begin = 0, .bytes = 16}};

// If this fails, an operation costs other bytes than it moves.
TEST(KernelLaunch, CostsTheBytesOfTheDeviceAndTheOperations) {
  EXPECT_DOUBLE_EQ(cost_of({.name = "copy", .reads = on_device, .writes = on_device}), 96);
  EXPECT_DOUBLE_EQ(cost_of({.name = "add", .reads = on_device, .operations = 5}), 53);
  EXPECT_DOUBLE_EQ(cost_of({.name = "gather", .reads = on_device, .device_bytes = 10}), 10);
}

// If this fails, every operation with an operand on the host pays for the link, or a copy to the
// host doesn't.
TEST(KernelLaunch, OnlyCopiesPayForTheLinkToTheHost) {
  EXPECT_DOUBLE_EQ(cost_of({.name = "add", .reads = on_host, .writes = on_device}), 48);
  EXPECT_DOUBLE_EQ(
      cost_of({.name = "to", .reads = on_host, .writes = on_device, .copies_host_memory = true}),
      48 + 2 * 16);
}

}  // namespace
}  // namespace simmesh
