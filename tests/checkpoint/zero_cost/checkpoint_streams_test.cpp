#include "checkpoint/zero_cost/checkpoint_streams.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"

namespace simmesh::checkpoint {
namespace {

// Copies wait for earlier work, and writes for their copies. Neither delays later work. 2^30 bytes
// at 1 GB/s take a second.
TEST(CheckpointStreams, RunBesideWhatIsComputed) {
  World world({.ranks = 1, .device = DeviceModel{.launch_us = 0}});
  Outcome outcome = world.run([](Rank&) {
    auto compute = [](double cost_us) {
      Clock::active()->launch({.name = "compute", .cost_us = cost_us});
    };
    CheckpointStreams& streams = CheckpointStreams::of_this_rank();
    compute(10);
    StreamEvent copied = streams.copy([&] { compute(5); });
    StreamEvent written = streams.write(copied, double(1 << 30), 1.0);
    compute(2);
    EXPECT_EQ(Stream::current().index(), 0u);
    Stream::current().wait(copied);
    Stream::current().wait(written);
  });
  ASSERT_TRUE(outcome.ok()) << report(outcome);
  const DeviceReport& report = outcome.devices[0];
  ASSERT_EQ(report.streams.size(), 3u);
  EXPECT_EQ(report.streams[1].name, "checkpoint copies");
  EXPECT_EQ(report.streams[1].exposed_us, 3);
  EXPECT_EQ(report.streams[2].name, "checkpoint writer");
  EXPECT_EQ(report.streams[2].busy_us, 1e6);
  EXPECT_EQ(report.streams[2].exposed_us, 1e6);
  EXPECT_EQ(report.makespan_us, 15 + 1e6);
}

// Without a device nothing is launched.
TEST(CheckpointStreams, DoNothingWithoutADevice) {
  World world({.ranks = 1});
  Outcome outcome = world.run([](Rank&) {
    bool has_run = false;
    StreamEvent copied = CheckpointStreams::of_this_rank().copy([&] { has_run = true; });
    CheckpointStreams::of_this_rank().write(copied, 8, 1.0);
    EXPECT_TRUE(has_run);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_TRUE(outcome.devices.empty());
}

}  // namespace
}  // namespace simmesh::checkpoint
