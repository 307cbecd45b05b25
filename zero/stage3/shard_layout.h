#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

namespace simmesh::zero {

// ShardLayout is how stage 3 of ZeRO partitions one parameter: its elements, flattened in row-major
// order and padded to a multiple of the number of ranks, are cut into equal shards. The padding is
// undefined.
//
//   zero::ShardLayout shard{.numel = 5, .ranks = 3};    // shards of 2; rank 2 has elements [4, 5)
struct ShardLayout {
  std::int64_t numel = 0;
  std::int64_t ranks = 1;

  std::int64_t shard_numel() const { return (numel + ranks - 1) / ranks; }
  std::int64_t padded_numel() const { return shard_numel() * ranks; }
  // begin and end are the elements of a rank, without padding; empty beyond the end.
  std::int64_t begin(std::int64_t rank) const;
  std::int64_t end(std::int64_t rank) const { return begin(rank + 1); }
};

// Tile is a part of a group's parameters that the optimiser of stage 3 treats as one tensor: the
// shards of a rank one after another. It has `numel` elements.
struct Tile {
  std::vector<std::size_t> parameters;
  std::int64_t numel = 0;
};

// optimizer_tiles cuts each group of parameters, given as indices, into tiles: a tile ends with the
// parameter whose shard makes it sub_group_size elements or more, and with the last of its group.
// shard_numels has the size of each parameter's shard.
std::vector<Tile> optimizer_tiles(gsl::span<const std::vector<std::size_t>> groups,
                                  gsl::span<const std::int64_t> shard_numels,
                                  std::int64_t sub_group_size);

}  // namespace simmesh::zero
