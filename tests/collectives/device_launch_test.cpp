#include "collectives/device_launch.h"

#include <gtest/gtest.h>

#include "collectives/work.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh {
namespace {

// The result of a collective is there after its wait, and not before.
TEST(DeviceLaunch, AWaitOrdersWhatWasStarted) {
  for (bool waits : {true, false})
    for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
      for (std::size_t threads : {1, 2}) {
        World world({.ranks = 2,
                     .schedule = Schedule::parse(schedule),
                     .threads = threads,
                     .device = DeviceModel{}});
        Outcome outcome = world.run([waits](Rank&) {
          Tensor piece = zeros({4}, DType::float32), whole = zeros({8}, DType::float32);
          CollectiveCall call{
              .op = CollectiveOp::all_gather, .inputs = {&piece, 1}, .site = CallSite::here()};
          Work work = start_collective(ProcessGroup::world(), call, {.into = whole});
          if (waits) work.wait();
          add(whole, whole);
        });
        EXPECT_EQ(outcome.ok(), waits) << schedule << ", threads " << threads;
      }
}

// Groups within a host have the fast links.
TEST(DeviceLaunch, LinksDependOnTheHost) {
  World world({.ranks = 4});
  Outcome outcome = world.run([](Rank&) {
    DeviceMesh mesh = init_device_mesh({2, 2}, {"between", "inside"});
    DeviceModel model{.topology = {.devices_per_host = 2}};
    Tensor input = zeros({1024}, DType::float32);
    CollectiveCall call{.op = CollectiveOp::all_reduce, .inputs = {&input, 1}};
    EXPECT_LT(collective_us(call, process_group(mesh, "inside"), model),
              collective_us(call, process_group(mesh, "between"), model));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
