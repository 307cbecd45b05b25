#include "zero/stage3/shard_layout.h"

#include <algorithm>

namespace simmesh::zero {

std::int64_t ShardLayout::begin(std::int64_t rank) const {
  return std::min(rank * shard_numel(), numel);
}

std::vector<Tile> optimizer_tiles(gsl::span<const std::vector<std::size_t>> groups,
                                  gsl::span<const std::int64_t> shard_numels,
                                  std::int64_t sub_group_size) {
  std::vector<Tile> tiles;
  for (const std::vector<std::size_t>& group : groups) {
    Tile tile;
    for (std::size_t parameter : group) {
      tile.parameters.push_back(parameter);
      tile.numel += shard_numels[parameter];
      if (tile.numel < sub_group_size && parameter != group.back()) continue;
      tiles.push_back(std::move(tile));
      tile = {};
    }
  }
  return tiles;
}

}  // namespace simmesh::zero
