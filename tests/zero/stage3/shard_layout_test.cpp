#include "zero/stage3/shard_layout.h"

#include <gtest/gtest.h>

namespace simmesh::zero {
namespace {

TEST(ShardLayout, CutsEvenlyAndPadsTheEnd) {
  for (std::int64_t numel = 0; numel <= 9; ++numel)
    for (std::int64_t ranks = 1; ranks <= 5; ++ranks) {
      ShardLayout shard{numel, ranks};
      EXPECT_EQ(shard.begin(0), 0);
      EXPECT_EQ(shard.end(ranks - 1), numel);
      EXPECT_LT(shard.padded_numel() - numel, ranks);
      for (std::int64_t rank = 0; rank < ranks; ++rank)
        EXPECT_LE(shard.end(rank) - shard.begin(rank), shard.shard_numel());
    }
}

// If this fails, a tile is larger than it need be, or mixes groups.
TEST(ShardLayout, TilesEndAtTheirSizeAndAtTheirGroup) {
  std::vector<std::vector<std::size_t>> groups = {{0, 1, 2, 3}, {4}};
  std::vector<std::int64_t> shards = {3, 2, 4, 1, 9};
  std::vector<Tile> tiles = optimizer_tiles(groups, shards, 5);
  ASSERT_EQ(tiles.size(), 3u);
  EXPECT_EQ(tiles[0].parameters, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(tiles[1].parameters, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(tiles[2].numel, 9);
  EXPECT_EQ(optimizer_tiles(groups, shards, 0).size(), 5u);
}

}  // namespace
}  // namespace simmesh::zero
