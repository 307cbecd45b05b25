#include "core/tensor/launch.h"

#include <gtest/gtest.h>

#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

// A range that is too long races with neighbours, one that is too short misses them.
TEST(Launch, NamesTheBytesOfViews) {
  Tensor x = zeros({4, 6}, DType::float32);
  auto bytes = [](const Tensor& tensor) {
    MemoryRange range = memory_of(tensor);
    return std::pair(range.offset, range.bytes);
  };
  EXPECT_EQ(bytes(x), std::pair(std::size_t(0), std::size_t(96)));
  EXPECT_EQ(bytes(x.narrow({0, 1, 2})), std::pair(std::size_t(24), std::size_t(48)));
  EXPECT_EQ(bytes(x.narrow({1, 2, 3})), std::pair(std::size_t(8), std::size_t(84)));
  EXPECT_EQ(bytes(x.narrow({0, 4, 0})).second, 0u);
  EXPECT_EQ(memory_of(x.narrow({1, 2, 3})).storage, x.storage()->id());
}

// Bytes of the host cross the slow link only where an operation copies them.
TEST(Launch, CopiesCrossTheLinkToTheHost) {
  World world({.ranks = 1, .device = DeviceModel{.launch_us = 0, .host_gb_s = 1}});
  Tensor outside = zeros({256}, DType::float32);
  Outcome outcome = world.run([&](Rank&) {
    launch({.name = "to_device", .reads = {&outside, 1}, .copies_host_memory = true});
    launch({.name = "on_host", .reads = {&outside, 1}});
  });
  ASSERT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_DOUBLE_EQ(outcome.devices[0].makespan_us, 1024.0 / (1 << 30) * 1e6);
}

}  // namespace
}  // namespace simmesh
