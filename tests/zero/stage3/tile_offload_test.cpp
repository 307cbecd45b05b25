#include "zero/stage3/tile_offload.h"

#include <gtest/gtest.h>

#include "core/tensor/formula.h"

namespace simmesh::zero {
namespace {

Config offloading_to(OffloadDevice device, double ratio) {
  Config config;
  config.zero_optimization.offload_optimizer = OffloadOptimizer{
      .device = device, .nvme_path = ::testing::TempDir(), .buffer_count = 2, .ratio = ratio};
  return config;
}

// If this fails, more or less of the optimizer's state is on the device than DeepSpeed's ratio
// says.
TEST(TileOffload, TheFirstTilesStayOnTheDevice) {
  TileOffload none(Config(), {10, 10});
  EXPECT_FALSE(none.is_offloaded(0));
  TileOffload part(offloading_to(OffloadDevice::cpu, 0.3), {10, 10, 10, 10});
  for (std::size_t tile = 0; tile < 4; ++tile) EXPECT_EQ(part.is_offloaded(tile), tile >= 2);
  EXPECT_FALSE(part.is_offloaded(4));
  EXPECT_FALSE(part.is_in_file(3));
}

// If this fails, state that is read back from a file has other bits.
TEST(TileOffload, LargeTilesGoToAFileAndComeBack) {
  constexpr std::int64_t large = 1 << 18;
  TileOffload tiles(offloading_to(OffloadDevice::nvme, 1.0), {large, 10});
  ASSERT_TRUE(tiles.is_in_file(0));
  EXPECT_TRUE(tiles.is_offloaded(1));
  EXPECT_FALSE(tiles.is_in_file(1));
  std::vector<Tensor> state = {formula({large}, {.seed = 1}), formula({large}, {.seed = 2})};
  tiles.end(0, state);
  EXPECT_TRUE(state[0].storage()->is_freed());
  tiles.begin(0, state, {});
  for (std::size_t i : {0u, 1u})
    EXPECT_TRUE(same_bits(state[i], formula({large}, {.seed = i + 1})));
  tiles.end(0, state);
  tiles.bring_back(state);
  EXPECT_TRUE(same_bits(state[1], formula({large}, {.seed = 2})));
}

}  // namespace
}  // namespace simmesh::zero
